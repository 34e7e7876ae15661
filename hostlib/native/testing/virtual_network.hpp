// Any number of endpoints in one process under virtual time, with links of given latency and rate, and a hook
// that sees each packet and decides its fate. What happens depends on the arguments and seeds alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
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

// Every rank has a wire to all others. Packets take turns where a rank's begins, and nowhere else.
struct LinkModel {
    Nanos latency = 10 * kMicrosecond;  // one way, rank to rank
    Nanos path_skew = 0;                // path p takes p times this longer
    Nanos jitter = 0;                   // up to this longer, at random
    bool fifo_paths = false;            // jitter does not reorder packets of one (source, destination, path)
    std::uint64_t rate_bps = 0;         // bit/s of what a rank sends; 0: no limit
    LossSignal signal;                  // what becomes of a packet that is cut
};

// Seeded chance, for each packet by itself.
struct Chance {
    double drop_data = 0;
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
    std::uint64_t parity_dropped = 0;
    std::uint64_t parity_duplicated = 0;
    std::uint64_t data_dropped = 0;
    std::uint64_t data_cut = 0;      // copies that a switch cut
    std::uint64_t data_trimmed = 0;  // LOSS packets made of them for receivers
    std::uint64_t data_bounced = 0;  // and for senders
    std::uint64_t data_marked = 0;
    std::uint64_t data_duplicated = 0;
    std::uint64_t data_corrupted = 0;
    std::uint64_t control_dropped = 0;
    std::uint64_t control_duplicated = 0;
    std::uint64_t loss_dropped = 0;  // LOSS packets that were lost in their turn
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
    // Bytes of the last packet that left a rank with this type; empty: none did.
    const std::vector<std::byte>& last_packet(std::uint16_t rank, wire::Type type) const;

    Endpoint& endpoint(std::uint16_t rank) { return *ranks_.at(rank).endpoint; }
    std::uint16_t world() const noexcept { return static_cast<std::uint16_t>(ranks_.size()); }
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
        enum class Kind : std::uint8_t { deliver, timer, wake } kind = Kind::timer;
        std::uint16_t rank = 0;  // destination
        std::shared_ptr<Bytes> packet;
        bool operator>(const Event& o) const noexcept { return at != o.at ? at > o.at : order > o.order; }
    };
    struct Rank {
        std::unique_ptr<Endpoint> endpoint;
        std::unordered_map<std::uint64_t, Bytes> buffers;
        std::vector<Completion> completions;
        std::vector<std::shared_ptr<Bytes>> inbox;           // while stopped
        std::unordered_map<std::uint32_t, Nanos> path_last;  // by destination and path
        std::unordered_map<int, Bytes> last_packets;
        Nanos egress_free = 0;
        Nanos hold_up = 0;
        Nanos timer_at = kNever;
        bool stopped = false;
        bool dead = false;
    };

    void make_endpoint(std::uint16_t rank, EndpointConfig config);
    void schedule(Nanos at, Event::Kind kind, std::uint16_t rank, std::shared_ptr<Bytes> packet = nullptr);
    void step();
    void service(std::uint16_t rank);
    void transmit(std::uint16_t src, const TxPacket& packet);
    Verdict decide(const PacketView& view);
    // Cuts a DATA packet of `src` for `dst`: returns the LOSS for its receiver, if there is one, and sends
    // that for its sender on its way.
    std::shared_ptr<Bytes> cut(std::uint16_t src, std::uint16_t dst, const Bytes& packet);
    void mark(Bytes& packet);
    void launch(std::uint16_t src, std::uint16_t dst, std::uint16_t path, std::shared_ptr<Bytes> packet,
                Nanos extra);
    void deliver(std::uint16_t dst, const std::shared_ptr<Bytes>& packet);
    void count_lost(wire::Type type);
    // A packet occupies its sender's wire for so long.
    Nanos time_of(const Bytes& packet) const noexcept;

    LinkModel link_;
    Chance chance_;
    SplitMix random_;
    Hook hook_;
    std::vector<Rank> ranks_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    FabricCounts counts_;
    std::size_t tag_bytes_ = 0;
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
