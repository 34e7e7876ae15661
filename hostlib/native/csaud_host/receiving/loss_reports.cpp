#include "csaud_host/receiving/loss_reports.hpp"

namespace csaud {

void LossReports::lost(const CopyName& copy, std::uint16_t total, const Peer& peer, Nanos now) {
    if (receives_.has(copy.message, copy.pkt_idx)) return;  // another copy made it
    const LossPacer::Notice notice{copy, total};
    if (pacer_.pass()) return pass_on(notice);
    if (pacer_.empty()) ctx_.timers.arm(TimerKind::notices, 0, now + peer.rtt.patience());
    const std::uint32_t found = receives_.find(copy.message);
    if (pacer_.hold(notice, now, ctx_.longest_wait()) && found != kNone) ++receives_[found].held_notices;
}

void LossReports::track_path(const wire::CsaHeader& h, Peer& peer) {
    const wire::PathGap gap = peer.rx_paths[h.path_id].on_data(ctx_.path_serial, h.path_seq, h.ordered);
    if (gap.count == 0 || !ctx_.config.detectors.gap) return;
    ControlItem item = control_item(wire::Type::state, wire::Reason::gap, peer.rank, h.name, h.pkt_total);
    item.path = h.path_id;
    item.gap = gap;
    ctx_.control.push(item);
}

void LossReports::pass_on(const LossPacer::Notice& n) {
    ControlItem item =
        control_item(wire::Type::state, wire::Reason::loss, n.copy.peer, n.copy.message, n.total);
    item.pkt_idx = n.copy.pkt_idx;
    item.attempt = n.copy.attempt;
    ctx_.control.push(item);
}

// Passes on the oldest held notice that still matters.
void LossReports::release(Nanos now) {
    while (!pacer_.empty()) {
        const LossPacer::Notice n = pacer_.take();
        const std::uint32_t found = receives_.find(n.copy.message);
        if (found != kNone && receives_[found].held_notices > 0) --receives_[found].held_notices;
        if (receives_.has(n.copy.message, n.copy.pkt_idx)) continue;
        pass_on(n);
        break;
    }
    const Nanos wait = pacer_.empty() ? 0 : ctx_.peers.get(pacer_.front().copy.peer).rtt.patience();
    ctx_.timers.arm(TimerKind::notices, 0, pacer_.empty() ? kNever : now + wait);
}

}  // namespace csaud
