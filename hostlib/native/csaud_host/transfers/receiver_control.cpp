// The receiving half: notices, probes and timers.
#include <algorithm>

#include "csaud_host/transfers/receiver.hpp"

namespace csaud {
namespace {
// A sender that keeps asking for a message of another number of packets than the one posted, and of which
// nothing fits, or keeps sending a packet of another size, or says again and again that we acknowledged what
// we did not, will never be satisfied: after so many PROBEs, DATA copies or answers the receive ends with
// Status::protocol.
constexpr std::uint8_t kContradictions = 8;
}  // namespace

ControlItem Receiver::answer(wire::Type type, wire::Reason reason, const MessageName& name,
                             std::uint16_t total, std::uint16_t peer) const {
    ControlItem item;
    item.type = type;
    item.reason = reason;
    item.name = name;
    item.name.epoch = ctx_.config.epoch;
    item.pkt_total = total;
    item.peer = peer;
    return item;
}

Receiver::View Receiver::view(const MessageName& name) const noexcept {
    const std::uint32_t found = by_name_.find(name);
    if (found != kNone) return {&messages_[found].reassembly, false, messages_[found].posted};
    return {nullptr, finished_.contains(name), false};
}

void Receiver::on_loss(const wire::Decoded& d, Nanos now) {
    const wire::CsaHeader& h = d.csa;
    const std::uint32_t found = by_name_.find(h.name);
    if (!sane_source(d) || (found != kNone && messages_[found].reassembly.total() != h.pkt_total)) {
        ++ctx_.stats.rx_bad_index;
        return;
    }
    const std::uint16_t src = h.name.src_rank;
    if (!notices_.add({h.name, src, h.pkt_idx, h.attempt})) {
        ++ctx_.stats.rx_loss_repeats;
        return;
    }
    ++ctx_.stats.rx_loss_notices;
    ++ctx_.stats.rx_loss_trimmed;
    Peer& peer = ctx_.peers.get(src);
    peer.rx_paths[h.path_id].on_loss(ctx_.path_serial, h.path_seq);
    if (const Nanos target = queueing_target(peer); ctx_.config.shaping)
        peer.arrivals.sample(true, 2 * target, target, ctx_.config.window);
    if (!ctx_.config.detectors.loss) return;
    const bool have =
        found != kNone ? messages_[found].reassembly.has(h.pkt_idx) : finished_.contains(h.name);
    if (have) return;  // another copy made it
    const LossPacer::Notice notice{{h.name, src, h.pkt_idx, h.attempt}, h.pkt_total};
    if (pacer_.pass()) return pass_on(notice);
    if (pacer_.empty()) ctx_.timers.arm(TimerKind::notices, 0, now + peer.rtt.patience());
    if (pacer_.hold(notice) && found != kNone) ++messages_[found].held_notices;
}

void Receiver::pass_on(const LossPacer::Notice& n) {
    ControlItem item = answer(wire::Type::state, wire::Reason::loss, n.copy.message, n.total, n.copy.peer);
    item.pkt_idx = n.copy.pkt_idx;
    item.attempt = n.copy.attempt;
    ctx_.control.push(item);
}

// Passes on the oldest held notice that still matters.
void Receiver::release_notice(Nanos now) {
    while (!pacer_.empty()) {
        const LossPacer::Notice n = pacer_.take();
        const std::uint32_t found = by_name_.find(n.copy.message);
        if (found != kNone && messages_[found].held_notices > 0) --messages_[found].held_notices;
        if (found != kNone ? messages_[found].reassembly.has(n.copy.pkt_idx)
                           : finished_.contains(n.copy.message)) {
            continue;
        }
        pass_on(n);
        break;
    }
    const Nanos wait = pacer_.empty() ? 0 : ctx_.peers.get(pacer_.front().copy.peer).rtt.patience();
    ctx_.timers.arm(TimerKind::notices, 0, pacer_.empty() ? kNever : now + wait);
}

void Receiver::on_notices_timer(Nanos now) {
    release_notice(now);
}

bool Receiver::fits(const wire::Decoded& d, Nanos now) {
    const wire::CsaHeader& h = d.csa;
    const std::uint32_t found = by_name_.find(h.name);
    if (found == kNone || messages_[found].reassembly.total() == h.pkt_total) return true;
    const Message& m = messages_[found];
    if (h.type == wire::Type::probe && m.posted && m.reassembly.received() == 0) contradicted(found, now);
    return false;
}

void Receiver::report(MemoryUse& use) const noexcept {
    use.receives = messages_.bytes() + by_name_.bytes();
    use.arrivals = arrivals_.bytes();
    use.early = early_.bytes_taken();
    use.finished += finished_.bytes();
    use.notices = notices_.bytes();
}

void Receiver::contradicted(std::uint32_t i, Nanos now) {
    Message& m = messages_[i];
    if (++m.contradictions != kContradictions) return;
    const std::uint16_t source = m.name.src_rank;
    finish(m, Status::protocol, source, now);
    close(i, ctx_.peers.get(source));
}

void Receiver::on_probe(const wire::Decoded& d) {
    const wire::CsaHeader& h = d.csa;
    ControlItem item =
        answer(wire::Type::state, wire::Reason::probed, h.name, h.pkt_total, d.control.from_rank);
    if (by_name_.find(h.name) == kNone) {
        const bool done = finished_.contains(h.name);
        item.type = done ? wire::Type::ack : wire::Type::probe_rsp;
        item.reason = done ? wire::Reason::done : wire::Reason::not_ready;
    }
    item.flags = wire::kEcho | wire::kSeen;
    // What a switch reported and we hold back is not to be resent for the probe's sake.
    if (const std::uint32_t found = by_name_.find(h.name);
        found != kNone && messages_[found].held_notices > 0) {
        item.flags = 0;
    }
    item.newest_ts = h.tx_ts;
    ctx_.control.push(item);
}

void Receiver::on_probe_rsp(const wire::Decoded& d, Nanos now) {
    const std::uint32_t found = by_name_.find(d.csa.name);
    if (found == kNone) return;
    Message& m = messages_[found];
    Peer& peer = ctx_.peers.get(d.csa.name.src_rank);
    if (d.control.reason == wire::Reason::gone && m.posted) return contradicted(found, now);
    if (d.control.reason == wire::Reason::not_started) return m.detector.not_started();
    if (d.control.reason != wire::Reason::sent) return;
    m.detector.sender_says(now, m.reassembly, d.control.cumulative, d.csa.tx_ts, terms(m, peer));
    arm(found, m, peer);
}

void Receiver::on_timer(std::uint32_t i, Nanos now, bool late) {
    Message& m = messages_[i];
    if (!m.live) return;
    Peer& peer = ctx_.peers.get(m.name.src_rank);
    if (m.posted && now >= m.deadline) {
        finish(m, Status::timeout, m.name.src_rank, now);
        close(i, peer);
        return;
    }
    if (ctx_.config.detectors.interval && !m.reassembly.complete()) {
        IntervalTerms t = terms(m, peer);
        const auto trip = static_cast<std::uint32_t>(t.rtt_smoothed / ctx_.config.tx_ts_unit_ns);
        t.answer_ts =
            ctx_.ts_serial.wrap(peer.clock.sent_at(ctx_.ts_serial, ctx_.ticks(now)) + std::uint64_t{trip});
        const bool due = m.detector.deadline(ctx_.ts_serial, m.reassembly, t) <= now;
        if (due && m.held_notices > 0) {
            m.detector.defer(now + t.rtt_patience);  // its holes are known, and wait for their turn
        } else if (due && !(late && m.detector.postpone(now, t))) {
            if (const auto report = m.detector.poll(ctx_.ts_serial, now, m.reassembly, t)) {
                ControlItem item = answer(wire::Type::state, wire::Reason::interval, m.name,
                                          static_cast<std::uint16_t>(m.reassembly.total()), peer.rank);
                if (report->seen) {
                    item.flags = wire::kSeen;
                    item.newest_ts = report->newest_ts;
                    item.pkt_idx = std::min<std::uint16_t>(
                        report->highest_idx, static_cast<std::uint16_t>(m.reassembly.total() - 1));
                }
                ctx_.control.push(item);
            }
        }
    }
    arm(i, m, peer);
}

}  // namespace csaud
