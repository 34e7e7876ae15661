// The receiving half of an endpoint: takes DATA, owns loss detection, answers probes, grants credit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "csaud_host/base/time.hpp"
#include "csaud_host/contract/memory.hpp"
#include "csaud_host/contract/pending_message.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/peers/liveness.hpp"
#include "csaud_host/receiving/allowance.hpp"
#include "csaud_host/receiving/interval_reports.hpp"
#include "csaud_host/receiving/loss_reports.hpp"
#include "csaud_host/receiving/parity_repairs.hpp"
#include "csaud_host/receiving/receives.hpp"

namespace csaud {

// What it is given has passed Plausibility.
class Receiver {
  public:
    Receiver(Context& c, Liveness& l)
        : ctx_(c),
          liveness_(l),
          receives_(c, l),
          allowance_(c),
          intervals_(c),
          losses_(c, receives_),
          parity_(c) {}

    std::uint64_t post(const MessageName&, std::uint16_t src, std::span<std::byte>, const Hints&, Nanos now);

    void on_data(const wire::Decoded&, Nanos now);
    // The same of what most packets are: of the same message as the peer's last one, posted, and the next of
    // it. It need not have passed Plausibility. False: it is another one, and nothing was done.
    [[gnu::always_inline]] bool on_next(const wire::Decoded& d, Nanos now) {
        const wire::CsaHeader& h = d.csa;
        Peer* const peer = ctx_.peers.active(h.name.src_rank);
        if (peer == nullptr) [[unlikely]]
            return false;
        Receive* const m = receives_.latest(h.name, *peer);
        if (m == nullptr) [[unlikely]]
            return false;
        if (m->parity != kNone || peer->parity_rows != 0 || h.attempt != 0 ||
            m->reassembly.total() != h.pkt_total || !m->reassembly.up_to(h.pkt_idx) ||
            d.payload.size() != ctx_.payload_bytes) [[unlikely]]
            return false;
        ++ctx_.stats.rx_data;
        learn(d, *peer, now);
        m->reassembly.place({ctx_.payload_bytes, m->buffer.size()}, m->buffer, h.pkt_idx, d.payload);
        m->reassembly.mark_next();
        peer->reorder.arrived(now, peer->rtt.base());
        peer->arrivals.arrived(1);
        allowance_.share(*m, *peer);
        allowance_.consumed(*peer, 1);
        allowance_.tell_if_due(*peer, h.tx_ts);
        if ((h.flags & wire::kAckReq) != 0) allowance_.tell(*peer);
        liveness_.measure(*peer, now);
        receives_.note_arrival(*m, now, h.pkt_idx + 1U, false, h.tx_ts);
        return true;
    }
    void on_parity(const wire::Decoded&, Nanos now);
    // A switch trimmed a packet that was for us.
    void on_loss(const wire::Decoded&, Nanos now);
    // Held notices waited for DATA that did not come.
    void on_notices_timer(Nanos now) { losses_.on_timer(now); }
    // Do a PROBE or a PROBE_RSP and what is known of its message fit together? False: it is counted as bad.
    bool fits(const wire::Decoded&, Nanos now);
    // A sender asks for a message of its own.
    void on_probe(const wire::Decoded&, Nanos now);
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

    std::size_t unfinished() const noexcept { return receives_.posted(); }
    // The record that timers of it name.
    const Receive& receive(std::uint32_t index) const noexcept { return receives_[index]; }
    void report(MemoryUse& use) const noexcept {
        receives_.report(use);
        losses_.report(use);
        use.parity += parity_.bytes();
    }
    void list(std::vector<PendingMessage>& out) const { receives_.list(out); }
    bool first_notice(const CopyName& copy) { return losses_.first_notice(copy); }

  private:
    // Can the packet be one of what is known under its name? If not, it is counted.
    bool belongs(const wire::Decoded& d, std::uint32_t index, const Receive& m, Nanos now) {
        const bool same_total = m.reassembly.total() == d.csa.pkt_total;
        // Of those before the last one the length says nothing new.
        const bool last = d.csa.pkt_idx + 1U == d.csa.pkt_total;
        if (same_total && (!m.posted || !last || ends_with(m, d))) return true;
        disbelieve(index, same_total, now);
        return false;
    }
    bool ends_with(const Receive& m, const wire::Decoded& d) const noexcept {
        return m.cut(ctx_.payload_bytes).length_of(d.csa.pkt_idx) == d.payload.size();
    }
    void disbelieve(std::uint32_t index, bool same_total, Nanos now);
    // What any DATA copy or PARITY tells of its peer and path, even if it is of no use any more.
    void learn(const wire::Decoded& d, Peer& peer, Nanos now) {
        const wire::CsaHeader& h = d.csa;
        liveness_.heard(peer, now);
        const Nanos late = ctx_.nanos(peer.clock.sample(ctx_.ts_serial, ctx_.ticks(now), h.tx_ts, now));
        allowance_.delivered(peer, h.path_id, d.route.ecn() == wire::kCongestionExperienced, late);
        losses_.delivered(h, peer, now);
    }
    // To its place, in the posted buffer or among what is early; false: there is none.
    bool place(const wire::Decoded& d, std::uint32_t index, Receive& m, Peer& peer) {
        if (!m.posted) return keep_early(d, index, m, peer);
        m.reassembly.place(m.cut(ctx_.payload_bytes), m.buffer, d.csa.pkt_idx, d.payload);
        return true;
    }
    bool keep_early(const wire::Decoded&, std::uint32_t index, Receive&, Peer&);
    // What parity gives back of a message, if it can.
    void repair(Receive&, Peer&, Nanos now);
    // Whether it was overtaken, or had to be sent again.
    void judge_order(const wire::CsaHeader& h, const Receive& m, Peer& peer, Nanos now) {
        peer.reorder.arrived(now, peer.rtt.base());
        if (h.attempt != 0) return sent_again(h, peer);
        if (h.pkt_idx + 1U < m.reassembly.high()) overtaken(h, m, peer, now);
    }
    void sent_again(const wire::CsaHeader&, const Peer&);
    void overtaken(const wire::CsaHeader&, const Receive&, Peer&, Nanos now);
    // A copy of what is there, of `m` or of a message that is over (nullptr).
    void duplicate(const wire::CsaHeader&, Receive* m, Peer&);
    // A first copy is not lost without a word, whatever it seemed.
    static void not_silent(Receive* m, Peer& peer) noexcept {
        if (m != nullptr && m->missing != 0) {
            --m->missing;
        } else {
            peer.lost.not_silent();
        }
    }
    // A first copy was replaced: is it lost, or may it still come?
    void replaced(Receive& m, Peer& peer, std::size_t idx, Nanos now) const noexcept {
        if (m.detector.lateness(now, idx) > beyond_queues(peer)) {
            peer.lost.lost();
        } else {
            ++m.missing;
        }
    }
    // How much later than those sent after it a packet hardly comes.
    Nanos beyond_queues(const Peer& peer) const noexcept {
        return std::max(peer.rtt.base(), ctx_.queueing.allowance());
    }
    // What came before the post turned out to be of another message.
    void disown_early(Receive&, Peer&);
    void complete(std::uint32_t index, Peer&, std::uint32_t echo_ts, Nanos now);
    // How many copies of an ACK to the peer are worth it.
    unsigned acknowledgements(const Peer&) const noexcept;
    void acknowledge(const MessageName&, std::size_t total, const Peer&, std::uint32_t echo_ts);
    // The sender holds this message for one of another size than the receive that was posted.
    void contradicted(std::uint32_t index, Nanos now);
    // It is over: what was held for it is free again.
    void close(std::uint32_t index, Peer&, bool complete);
    // Ends a receive before it is complete.
    void give_up(std::uint32_t index, Status, Nanos now);

    Context& ctx_;
    Liveness& liveness_;
    Receives receives_;
    Allowance allowance_;
    IntervalReports intervals_;
    LossReports losses_;
    ParityRepairs parity_;
};

}  // namespace csaud
