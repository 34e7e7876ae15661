#include "csaud_host/receiving/interval_reports.hpp"

#include <algorithm>

namespace csaud {
namespace {
// Ticks of a time stamp: what takes fewer is not told from reordering.
constexpr Nanos kStamps = 4;
}  // namespace

Nanos IntervalReports::first_wait(const Peer& peer, const Hints& hints, Nanos now) const noexcept {
    const Nanos expected = hints.expected_start != 0 ? hints.expected_start + 4 * hints.jitter - now
                                                     : peer.first_wait_mean + 4 * peer.first_wait_dev;
    const Nanos least = std::max({2 * peer.rtt.base(), peer.rtt.patience(), ctx_.config.timer_tick});
    return std::clamp(expected, least, std::max(least, ctx_.longest_wait()));
}

IntervalTerms IntervalReports::terms(const Receive& m, const Peer& peer) const noexcept {
    IntervalTerms t;
    const IntervalSwitches& on = ctx_.config.interval_terms;
    t.fixed = ctx_.config.fixed_interval;
    t.rtt_base = peer.rtt.base();
    t.rtt_smoothed = peer.rtt.smoothed();
    t.rtt_patience = peer.rtt.patience();
    t.delta = on.reorder ? peer.reorder.delta() : 0;
    t.sigma = on.reorder ? peer.reorder.sigma(t.rtt_base) : ReorderEstimator().sigma(t.rtt_base);
    t.hurry = on.hurry && ctx_.loss_memory.lossy();
    t.scheduled = m.scheduled;
    t.alone = m.scheduled && ctx_.awaited == 1;
    t.tick = std::max(ctx_.config.timer_tick, kStamps * ctx_.config.tx_ts_unit_ns);
    t.packet_time = ctx_.packet_time();
    t.queue_max = ctx_.config.queue_max;
    t.queueing = queueing(peer);
    t.tail = std::max(t.queueing, t.rtt_patience - t.rtt_smoothed) + 2 * ctx_.config.tx_ts_unit_ns;
    t.longest_wait = ctx_.longest_wait();
    return t;
}

Nanos IntervalReports::queueing(const Peer& peer) const noexcept {
    return std::min(std::max(peer.queueing.allowance(), ctx_.queueing.allowance()), ctx_.config.queue_max);
}

std::uint32_t IntervalReports::expected_by(const Peer& peer, Nanos now) const noexcept {
    if (!peer.clock.known()) return 0;
    const std::uint32_t sent = peer.clock.sent_at(ctx_.ts_serial, ctx_.ticks(now - queueing(peer)));
    const std::uint32_t before = ctx_.ts_serial.wrap(std::uint64_t{sent} - 1);  // clocks tick apart
    return before != 0 ? before : ctx_.ts_serial.wrap(~std::uint64_t{0});
}

void IntervalReports::arm(std::uint32_t i, Receive& m, Peer& peer) {
    if (!ctx_.config.detectors.interval || m.reassembly.complete()) return;
    const IntervalTerms t = terms(m, peer);
    m.detector.set_spacing(m.detector.interval(t) / 4);
    const Nanos due = m.detector.deadline(ctx_.ts_serial, m.reassembly, t);
    if (due != kNever) ctx_.timers.arm_earlier(TimerKind::recv, i, due);
}

void IntervalReports::on_timer(std::uint32_t i, Receive& m, Peer& peer, Nanos now, bool noticed, bool late) {
    if (ctx_.config.detectors.interval && !m.reassembly.complete()) {
        IntervalTerms t = terms(m, peer);
        const auto trip = static_cast<std::uint32_t>(t.rtt_smoothed / ctx_.config.tx_ts_unit_ns);
        t.answer_ts =
            ctx_.ts_serial.wrap(peer.clock.sent_at(ctx_.ts_serial, ctx_.ticks(now)) + std::uint64_t{trip});
        const bool due = m.detector.deadline(ctx_.ts_serial, m.reassembly, t) <= now;
        if (due && noticed) {
            m.detector.defer(now + t.rtt_patience);
        } else if (due && !(late && m.detector.postpone(now, t))) {
            if (const auto report = m.detector.poll(ctx_.ts_serial, now, m.reassembly, t))
                ask(m, peer, *report, now);
        }
    }
    arm(i, m, peer);
}

void IntervalReports::ask(const Receive& m, const Peer& peer, const IntervalDetector::Report& report,
                          Nanos now) {
    const auto total = static_cast<std::uint16_t>(m.reassembly.total());
    ControlItem item = control_item(wire::Type::state, wire::Reason::interval, peer.rank, m.name, total);
    if (report.seen) {
        ControlItem holes = item;
        holes.flags = wire::kSeen;
        holes.newest_ts = report.newest_ts;
        holes.pkt_idx =
            std::min<std::uint16_t>(report.highest_idx, static_cast<std::uint16_t>(m.reassembly.total() - 1));
        ctx_.control.push(holes);
    }
    if (!report.idle) return;
    // Nothing that was sent later has arrived: all that can be said is when, by the sender's clock, it sent
    // what should be here by now.
    item.newest_ts = expected_by(peer, now);
    ctx_.control.push(item);
}

void IntervalReports::sender_says(std::uint32_t i, Receive& m, Peer& peer, std::uint16_t sent,
                                  std::uint32_t tx_ts, Nanos now) {
    m.detector.sender_says(now, m.reassembly, sent, tx_ts, terms(m, peer));
    arm(i, m, peer);
}

}  // namespace csaud
