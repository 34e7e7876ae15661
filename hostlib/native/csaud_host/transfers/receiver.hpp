// The receiving half of an endpoint: takes DATA, owns loss detection, answers probes, grants credit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "csaud_host/base/index_map.hpp"
#include "csaud_host/base/time.hpp"
#include "csaud_host/contract/memory.hpp"
#include "csaud_host/contract/pending_message.hpp"
#include "csaud_host/loss/detector.hpp"
#include "csaud_host/loss/loss_notices.hpp"
#include "csaud_host/loss/loss_pacer.hpp"
#include "csaud_host/messages/early_pool.hpp"
#include "csaud_host/messages/finished.hpp"
#include "csaud_host/messages/reassembly.hpp"
#include "csaud_host/messages/step_progress.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/peers/liveness.hpp"

namespace csaud {

class Receiver {
  public:
    Receiver(Context&, Liveness&);

    std::uint64_t post(const MessageName&, std::uint16_t src, std::span<std::byte>, const Hints&, Nanos now);

    void on_data(const wire::Decoded&, Nanos now);
    // A switch trimmed a packet that was for us.
    void on_loss(const wire::Decoded&, Nanos now);
    // Held notices waited for DATA that did not come.
    void on_notices_timer(Nanos now);
    // Do a PROBE or a PROBE_RSP and what is known of its message fit together? False: it is counted as bad.
    bool fits(const wire::Decoded&, Nanos now);
    // A sender asks for a message of its own.
    void on_probe(const wire::Decoded&);
    // A sender's answer to our STATE.
    void on_probe_rsp(const wire::Decoded&, Nanos now);

    void on_timer(std::uint32_t index, Nanos now, bool late);

    // Every posted receive ends like this; early data is dropped.
    void fail_all(Status, std::uint16_t rank, Nanos now);

    // What a control packet can say of a message when it goes.
    struct View {
        const Reassembly* reassembly = nullptr;  // nullptr: nothing known of it (or finished)
        bool finished = false;
        bool awaited = false;  // its receive is posted
    };
    View view(const MessageName&) const noexcept;

    std::size_t unfinished() const noexcept { return posted_; }
    void report(MemoryUse&) const noexcept;
    void list(std::vector<PendingMessage>&) const;
    bool first_notice(const CopyName& copy) { return notices_.add(copy); }

  private:
    struct Message {
        std::uint64_t id = 0;
        MessageName name;
        std::span<std::byte> buffer;
        Reassembly reassembly;
        IntervalDetector detector;
        Nanos started = 0;  // posted, until its first packet arrived
        Nanos deadline = kNever;
        std::uint32_t early = kNone;     // packets in the early pool
        std::uint16_t held_notices = 0;  // of it, in the pacer
        std::uint16_t fan_in = 0;        // as the schedule knows it
        std::uint8_t contradictions = 0;
        bool live = false;
        bool posted = false;
        bool begun = false;  // a packet arrived
    };
    static_assert(sizeof(Message) <= 224, "the memory of an active receive");

    struct NameOf {
        const Pool<Message>* messages;
        const MessageName& operator()(std::uint32_t i) const noexcept { return (*messages)[i].name; }
    };

    // The sender holds this message for one of another size than the receive that was posted.
    void contradicted(std::uint32_t i, Nanos now);
    std::uint32_t open(const MessageName&, std::size_t total, Nanos now, Nanos first_wait);
    void close(std::uint32_t index, Peer&);
    void complete(std::uint32_t index, Peer&, std::uint32_t echo_ts, Nanos now);
    void acknowledge(const MessageName&, std::size_t total, const Peer&, std::uint32_t echo_ts);
    void finish(Message&, Status, std::uint16_t rank, Nanos now);
    void take_early(Message&, Peer&);
    void drop_early(Message&, Peer&);
    void begin(Message&, Peer&, Nanos now);
    void arm(std::uint32_t index, Message&, Peer&);
    Cut cut_of(const Message& m) const noexcept { return {ctx_.payload_bytes, m.buffer.size()}; }
    void consumed(Peer&, std::uint32_t packets);
    void share_window(const Message&, Peer&) noexcept;
    // Longest time that a peer's packets may stand in queues before marks shrink its window.
    Nanos queueing_target(const Peer& p) const noexcept {
        return std::max(p.rtt.base(), ctx_.config.timer_tick);
    }
    void tell_if_due(Peer&, std::uint32_t echo_ts);
    void tell_credit(Peer&);
    void duplicate(const wire::Decoded&, const Peer&, bool finished);
    void pass_on(const LossPacer::Notice&);
    void release_notice(Nanos now);
    void track_path(const wire::Decoded&, Peer&);
    bool sane_source(const wire::Decoded&) noexcept;
    ControlItem answer(wire::Type, wire::Reason, const MessageName&, std::uint16_t total,
                       std::uint16_t peer) const;
    IntervalTerms terms(const Message&, const Peer&) const noexcept;
    Nanos first_wait(const Peer&, const Hints&, Nanos now) const noexcept;

    Context& ctx_;
    Liveness& liveness_;
    Pool<Message> messages_;
    IndexMap<NameOf> by_name_;
    ArrivalStore arrivals_;
    FinishedMessages finished_;
    LossNotices notices_;
    LossPacer pacer_;
    EarlyPool early_;
    StepProgress steps_;
    std::size_t posted_ = 0;
};

}  // namespace csaud
