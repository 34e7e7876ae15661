// Any number of endpoints in one process under virtual time, with links of given latency and rate, and a hook
// that sees each packet and decides its fate. What happens depends on the arguments and seeds alone.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "csaud_host/endpoint/endpoint.hpp"
#include "csaud_host/wire/wire.hpp"
#include "splitmix.hpp"

namespace csaud::testing {

// How a switch tells of a packet that it cuts.
struct LossSignal {
    bool trim = true;       // to the receiver
    bool bounce = false;    // to the sender
    bool icrc = false;      // as a packet with an iCRC to the RoCE port
    std::size_t kept = 80;  // bytes that stay, from the IPv4 header on; with an iCRC always 80
};

// Leaves and spines between the ranks' links; rank r is at leaf r % leaves, so that neighbours in a ring are
// at different ones. A third of the latency is on each hop.
struct TierModel {
    std::uint16_t leaves = 0;      // 0: a fabric without queues of its own
    std::uint16_t spines = 1;      // path p goes over spine p % spines
    bool random_spray = false;     // switches draw the spine of each DATA packet
    std::uint64_t rate_bps = 0;    // bit/s of a link between leaf and spine; 0: that of a rank's link
    std::uint32_t slow_spine = 0;  // links from and to spine 0 have that part of the rate; 0: all are alike
};

// Every rank hangs on one link to a fabric; queues form where links begin and end.
struct LinkModel {
    Nanos latency = 10 * kMicrosecond;  // one way, rank to rank
    Nanos path_skew = 0;                // path p takes p times this longer
    Nanos jitter = 0;                   // up to this longer, at random
    bool fifo_paths = false;            // jitter does not reorder packets of one (source, destination, path)
    std::uint64_t rate_bps = 0;         // bit/s of a rank's link in each direction; 0: no limit
    std::uint32_t trim_at =
        0;  // DATA packets waiting for a receiver's link above which DATA is trimmed; 0: never
    std::uint32_t drop_at = 0;  // the same, dropped
    std::uint32_t mark_at = 0;  // the same, marked (CE) where the packet allows it
    LossSignal signal;          // what becomes of a packet that is cut
    TierModel tiers;
    std::size_t data_bytes = 0;   // what a full DATA packet counts for on links; 0: its size
    std::uint32_t nic_queue = 0;  // packets that a rank hands to its link ahead of time; 0: all it has
    Nanos oracle = 0;  // a sender learns of each lost DATA copy so long after it was lost; 0: it does not
};

// Seeded chance, for each packet by itself.
struct Chance {
    double drop_data = 0;
    double burst = 1;  // packets lost in a row, on average (Gilbert-Elliott, by source and path); above 1
                       // control packets share the lot of DATA
    double drop_control = 0;
    double trim = 0;
    double mark = 0;  // ECN, of DATA
    double duplicate = 0;
    double late = 0;  // DATA and control, by `late_by` at most
    Nanos late_by = 0;
    std::uint64_t seed = 1;
};

// A packet as a hook sees it.
struct PacketView {
    std::uint16_t src = 0;
    std::uint16_t dst = 0;
    std::uint64_t number = 0;  // of all packets sent so far, from 0
    Nanos now = 0;
    wire::CsaHeader csa;
    wire::ControlPart control;
};

enum class Fate : std::uint8_t { deliver, drop, trim, corrupt, mark };

struct Verdict {
    Fate fate = Fate::deliver;
    Nanos delay = 0;         // added
    bool duplicate = false;  // a second copy arrives `duplicate_delay` after the first
    Nanos duplicate_delay = 0;
};

using Hook = std::function<Verdict(const PacketView&)>;

// What the fabric did, in packets: the other side of the books.
struct FabricCounts {
    std::uint64_t data_dropped = 0;
    std::uint64_t data_cut = 0;      // copies that a switch cut
    std::uint64_t data_trimmed = 0;  // LOSS packets made of them for receivers
    std::uint64_t data_bounced = 0;  // and for senders
    std::uint64_t data_marked = 0;
    std::uint64_t data_duplicated = 0;
    std::uint64_t data_corrupted = 0;
    std::uint64_t control_dropped = 0;
    std::uint64_t control_duplicated = 0;
    std::uint64_t loss_dropped = 0;   // LOSS packets that were lost in their turn
    std::uint64_t queue_dropped = 0;  // those of data_dropped that found a full queue
    std::uint64_t deepest_queue = 0;  // most DATA packets that ever waited for one link
};

class VirtualNetwork {
  public:
    // `base` holds for every rank but for its rank and address (10.0.0.rank+1, queue pair 256 + rank).
    VirtualNetwork(std::uint16_t world, const EndpointConfig& base, const LinkModel& link,
                   const Chance& chance);

    VirtualNetwork(const VirtualNetwork&) = delete;
    VirtualNetwork& operator=(const VirtualNetwork&) = delete;

    void set_hook(Hook hook) { hook_ = std::move(hook); }
    void set_chance(const Chance& chance);

    std::uint64_t post_send(std::uint16_t rank, std::uint16_t dst, MessageName name,
                            std::vector<std::byte> data, const Hints& hints = {});
    std::uint64_t post_recv(std::uint16_t rank, std::uint16_t src, MessageName name, std::size_t bytes,
                            const Hints& hints = {});

    // A rank posted so many messages at its endpoint, of buffers that their owner keeps: sends what may go.
    void serve(std::uint16_t rank, std::size_t posted);

    // Runs until virtual time `until`, or until nothing will ever happen again (then time stops there).
    void run_until(Nanos until);
    // Runs until all posted messages completed, all ranks that live are quiet and no packet is under way;
    // false: `limit` came first.
    bool settle(Nanos limit);

    Nanos now() const noexcept { return now_; }

    // SIGSTOP and SIGCONT: what arrives meanwhile waits, timers are late.
    void stop(std::uint16_t rank);
    void resume(std::uint16_t rank);
    // The rank's process is held up for so long between taking its next packets from the endpoint and sending
    // them.
    void hold_up(std::uint16_t rank, Nanos time) { ranks_.at(rank).hold_up = time; }
    // Silent for ever.
    void kill(std::uint16_t rank);
    // All ranks, the dead ones too, begin again as a job of another epoch; what is under way still arrives,
    // and the fabric's counts go on.
    void begin_again(std::uint16_t epoch);

    // Hands bytes to a rank as if they came from the network.
    void inject(std::uint16_t rank, std::span<const std::byte> packet);
    // Whether last_packet() knows any; it costs time.
    void keep_last_packets(bool keep) noexcept { keep_packets_ = keep; }
    // Bytes of the last packet that left a rank with this type; empty: none did.
    const std::vector<std::byte>& last_packet(std::uint16_t rank, wire::Type type) const;

    Endpoint& endpoint(std::uint16_t rank) { return *ranks_.at(rank).endpoint; }
    std::uint16_t world() const noexcept { return static_cast<std::uint16_t>(ranks_.size()); }
    // Is told of each completion at once, instead of completions(); may post.
    void on_completion(std::function<void(std::uint16_t rank, const Completion&)> f) {
        on_completion_ = std::move(f);
    }
    // Completions since the last call.
    std::vector<Completion> completions(std::uint16_t rank);
    // The buffer of a receive.
    const std::vector<std::byte>& received(std::uint16_t rank, std::uint64_t id) const;
    std::size_t unfinished() const noexcept { return unfinished_; }

    const FabricCounts& counts() const noexcept { return counts_; }
    std::uint64_t packets() const noexcept { return next_number_; }
    // Empty, or what does not balance between the ranks' counters and the fabric's. Of a settled network
    // without kills.
    std::string unbalanced() const;

  private:
    using Bytes = std::vector<std::byte>;
    struct Event {
        Nanos at = 0;
        std::uint64_t order = 0;
        enum class Kind : std::uint8_t {
            uplink,    // at its source's leaf
            downlink,  // at a spine
            arrive,    // at its destination's leaf
            deliver,
            link_free,
            timer,
            wake,
        } kind = Kind::timer;
        std::uint16_t rank = 0;  // destination
        std::uint16_t leaf = 0;  // of the source
        std::uint16_t spine = 0;
        std::shared_ptr<Bytes> packet;
        bool operator>(const Event& o) const noexcept { return at != o.at ? at > o.at : order > o.order; }
    };
    struct Rank {
        std::unique_ptr<Endpoint> endpoint;
        std::unordered_map<std::uint64_t, Bytes> buffers;
        std::vector<Completion> completions;
        std::vector<std::shared_ptr<Bytes>> inbox;                         // while stopped
        std::deque<std::shared_ptr<Bytes>> waiting_data, waiting_control;  // for the last link
        std::unordered_map<std::uint32_t, Nanos> path_last;                // by destination and path
        std::unordered_map<int, Bytes> last_packets;
        std::vector<bool> losing;  // by path: in a burst of losses
        Nanos egress_free = 0;
        Nanos hold_up = 0;
        bool link_busy = false;
        Nanos timer_at = kNever;
        bool stopped = false;
        bool dead = false;
    };

    // The queue of a link between leaf and spine, as the times at which it will have served what it holds.
    struct TierQueue {
        Nanos data_free = 0;
        Nanos control_free = 0;
    };

    void make_endpoint(std::uint16_t rank, EndpointConfig config);
    void schedule(Nanos at, Event::Kind kind, std::uint16_t rank, std::shared_ptr<Bytes> packet = nullptr);
    void step();
    void service(std::uint16_t rank);
    void transmit(std::uint16_t src, const TxPacket& packet);
    bool nic_has_room(const Rank&) const noexcept;
    bool burst_takes(Rank&, std::uint16_t path);
    void pass_tier(const Event&);
    // False: there is no room for it. May replace the packet by a LOSS.
    bool admit(std::uint32_t waiting, std::shared_ptr<Bytes>& packet, std::uint16_t dst);
    void lose(const wire::Decoded&, const Bytes& packet, Nanos at);
    Verdict decide(const PacketView& view);
    // Cuts a DATA packet of `src` for `dst`: returns the LOSS for its receiver, if there is one, and sends
    // that for its sender on its way.
    std::shared_ptr<Bytes> cut(std::uint16_t src, std::uint16_t dst, const Bytes& packet);
    void mark(Bytes& packet);
    void launch(std::uint16_t src, std::uint16_t dst, std::uint16_t path, std::shared_ptr<Bytes> packet,
                Nanos extra);
    void arrive(std::uint16_t dst, std::shared_ptr<Bytes> packet);
    void start_link(std::uint16_t dst);
    void deliver(std::uint16_t dst, const std::shared_ptr<Bytes>& packet);
    void count_lost(wire::Type type);
    void forget_damage(const Bytes& packet);
    std::uint16_t leaf_of(std::uint16_t rank) const noexcept {
        return static_cast<std::uint16_t>(rank % link_.tiers.leaves);
    }
    Nanos hop_latency() const noexcept { return link_.tiers.leaves == 0 ? link_.latency : link_.latency / 3; }
    // Of a packet on a rank's link.
    Nanos time_of(const Bytes& packet) const noexcept { return time_of(packet, link_.rate_bps); }
    Nanos time_of(const Bytes& packet, std::uint64_t rate_bps) const noexcept;

    LinkModel link_;
    Chance chance_;
    SplitMix random_;
    Hook hook_;
    std::vector<Rank> ranks_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    FabricCounts counts_;
    std::unordered_set<const Bytes*> damaged_;  // DATA that is under way
    std::function<void(std::uint16_t, const Completion&)> on_completion_;
    std::vector<TierQueue> uplinks_, downlinks_;  // by leaf and spine
    bool keep_packets_ = true;
    std::size_t tag_bytes_ = 0;
    std::size_t full_data_bytes_ = 0;  // of a full DATA packet, from its IPv4 header on
    Nanos data_time_ = 0;              // of one on a rank's link
    Nanos now_ = 0;
    std::uint64_t next_order_ = 0;
    std::uint64_t next_number_ = 0;
    std::size_t unfinished_ = 0;
    std::size_t in_flight_ = 0;  // packets
};

// The LOSS packets that a switch makes of a DATA packet (from its IPv4 header on), for its receiver and for
// its sender.
std::vector<std::byte> trimmed(std::span<const std::byte> data_packet, std::uint16_t loss_port,
                               const LossSignal& signal = {});
std::vector<std::byte> bounced(std::span<const std::byte> data_packet, std::uint16_t loss_port,
                               const LossSignal& signal = {});

}  // namespace csaud::testing
