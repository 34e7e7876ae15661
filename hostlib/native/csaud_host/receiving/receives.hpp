// The receives that are under way, posted or not, and the names of those that are over.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "csaud_host/base/index_map.hpp"
#include "csaud_host/base/pool.hpp"
#include "csaud_host/base/time.hpp"
#include "csaud_host/contract/memory.hpp"
#include "csaud_host/contract/pending_message.hpp"
#include "csaud_host/loss/detector.hpp"
#include "csaud_host/messages/early_pool.hpp"
#include "csaud_host/messages/finished.hpp"
#include "csaud_host/messages/reassembly.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/peers/liveness.hpp"

namespace csaud {

// A message on its way in.
struct Receive {
    std::uint64_t id = 0;
    MessageName name;
    std::span<std::byte> buffer;
    Reassembly reassembly;
    IntervalDetector detector;
    Nanos started = 0;               // posted, until its first packet arrived
    std::uint32_t early = kNone;     // packets in the early pool
    std::uint32_t parity = kNone;    // sums of its packets with rows of parity
    std::uint16_t held_notices = 0;  // of it, in the pacer
    std::uint16_t fan_in = 0;        // as the schedule knows it
    std::uint16_t missing = 0;       // first copies that were replaced and may be only late
    std::uint8_t contradictions = 0;
    bool live : 1 = false;
    bool posted : 1 = false;
    bool scheduled : 1 = false;  // others wait for it
    bool begun : 1 = false;      // a packet arrived

    Cut cut(std::size_t payload_bytes) const noexcept { return {payload_bytes, buffer.size()}; }
};
static_assert(sizeof(Receive) <= 224, "the memory of an active receive");

class Receives {
  public:
    Receives(Context&, Liveness&);

    // kNone: nothing is known of it, or it is over.
    std::uint32_t find(const MessageName& name) const noexcept { return by_name_.find(name); }
    // The one that this peer's last DATA was of, if it has the name, is posted and has begun; or nullptr.
    static Receive* latest(const MessageName& name, const Peer& peer) noexcept {
        Receive* const m = peer.latest;  // records outlive their messages
        return m != nullptr && m->posted && m->begun && m->name == name ? m : nullptr;
    }
    // Ask only for names that are not found.
    bool finished(const MessageName& name) const noexcept { return finished_.contains(name); }
    // Is this packet of it here, or the whole message over?
    bool has(const MessageName&, std::uint16_t pkt_idx) const noexcept;
    Receive& operator[](std::uint32_t i) noexcept { return all_[i]; }
    const Receive& operator[](std::uint32_t i) const noexcept { return all_[i]; }

    std::uint32_t open(const MessageName&, std::size_t total, Nanos now, Nanos first_wait);
    // The caller waits for it from now on.
    void post(Receive&, Peer&, std::span<std::byte>, const Hints&, Nanos now);
    // Its first packet came.
    void begin(Receive&, Peer&, Nanos now);
    // A posted receive ends: its caller is told.
    void end(const Receive&, Status, std::uint16_t rank, Nanos now);
    void close(std::uint32_t index, Peer&);
    // All of it is here; to be closed.
    void complete(const Receive&);

    // Keeps a packet of a receive that is not posted; false: there is no room for it.
    bool keep_early(Receive&, Peer&, std::uint16_t idx, std::span<const std::byte> payload);
    // What came before the post goes to its place; packets.
    std::uint32_t take_early(Receive&, Peer&);
    // Whether what came before the post is of a message of this size.
    bool early_fits(const Receive&) const noexcept;
    void drop_early(Receive&, Peer&);

    // A new packet of the message arrived, and is marked: the highest is `high` - 1, and there are `holes`
    // below.
    void note_arrival(Receive& m, Nanos now, std::size_t high, bool holes, std::uint32_t tx_ts) {
        m.detector.arrived(ctx_.ts_serial, arrivals_, now, high, holes, tx_ts);
    }

    // Parity of it came, which tells that all of it was sent.
    void note_parity(Receive& m, Nanos now, std::uint32_t tx_ts) {
        m.detector.parity_arrived(ctx_.ts_serial, arrivals_, now, m.reassembly, tx_ts);
    }

    std::size_t posted() const noexcept { return posted_; }

    template <class F>
    void for_each(F&& f) {
        for (std::uint32_t i = 0; i < all_.capacity(); ++i) {
            if (all_[i].live) f(i);
        }
    }
    void list(std::vector<PendingMessage>&) const;
    void report(MemoryUse&) const noexcept;

  private:
    struct NameOf {
        const Pool<Receive>* all;
        const MessageName& operator()(std::uint32_t i) const noexcept { return (*all)[i].name; }
    };

    // A first guess of the time between packets of a message.
    Nanos gap_of(const Peer&) const noexcept;

    Context& ctx_;
    Liveness& liveness_;
    Pool<Receive> all_;
    IndexMap<NameOf> by_name_;
    ArrivalStore arrivals_;
    FinishedMessages finished_;
    EarlyPool early_;
    std::size_t posted_ = 0;
};

}  // namespace csaud
