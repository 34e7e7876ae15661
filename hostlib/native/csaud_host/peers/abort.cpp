#include "csaud_host/peers/abort.hpp"

#include <algorithm>

namespace csaud {

void AbortState::enter(Status status, std::uint16_t rank, bool flood, Nanos now) {
    status_ = status;
    rank_ = rank;
    rounds_left_ = flood ? ctx_.config.abort_repeats : 0;
    if (rounds_left_ != 0) on_timer(0, now);
}

ControlItem AbortState::words(std::uint16_t peer) const {
    ControlItem item;
    item.type = wire::Type::abort;
    item.reason = status_ == Status::peer_unreachable ? wire::Reason::peer_dead : wire::Reason::user_abort;
    item.peer = peer;
    item.name.epoch = ctx_.config.epoch;
    item.name.src_rank = rank_;
    return item;
}

void AbortState::on_timer(std::uint32_t index, Nanos now) {
    if (index != 0) {
        Peer* peer = ctx_.peers.find(static_cast<std::uint16_t>(index - 1));
        if (peer != nullptr && !active() && peer->doubted_abort != kNever) ask(*peer, now);
        return;
    }
    for (std::uint32_t r = 0; r < ctx_.config.world; ++r) {
        const auto peer = static_cast<std::uint16_t>(r);
        if (ctx_.peers.known(peer)) ctx_.control.push(words(peer));
    }
    if (--rounds_left_ != 0) ctx_.timers.arm(TimerKind::abort, 0, now + ctx_.config.abort_spacing);
}

void AbortState::reply(Peer& p, std::uint32_t sent_ts, Nanos now) {
    if (p.last_abort_reply != 0 && now - p.last_abort_reply < ctx_.config.abort_spacing) return;
    p.last_abort_reply = now;
    ControlItem item = words(p.rank);
    item.flags = wire::kSeen | wire::kEcho;
    item.newest_ts = sent_ts;
    ctx_.control.push(item);
}

bool AbortState::believes(Peer& p, const wire::ControlPart& c, Nanos now) {
    if ((c.flags & wire::kEcho) != 0) {
        const Nanos ago = ctx_.nanos(ctx_.ts_serial.distance(c.newest_tx_ts, ctx_.ticks(now)));
        if (ago >= 0 && ago <= std::max(ctx_.config.abort_spacing, 2 * p.rtt.patience())) return true;
    }
    if (p.doubted_abort != kNever && now - p.doubted_abort >= ctx_.config.abort_spacing / 2) return true;
    if (p.doubted_abort == kNever) {
        p.doubted_abort = now;
        p.abort_asked = 0;
        ask(p, now);
    }
    return false;
}

void AbortState::ask(Peer& p, Nanos now) {
    if (p.abort_asked++ == ctx_.config.abort_repeats) return;  // silent: then it will be found dead
    liveness_.ping(p, now);
    ctx_.timers.arm(TimerKind::abort, p.rank + 1U, now + ctx_.config.abort_spacing);
}

void AbortState::alive(Peer& p, const wire::ControlPart& c, Nanos now) noexcept {
    if (p.doubted_abort == kNever || (c.flags & wire::kEcho) == 0) return;
    const Serial& s = ctx_.ts_serial;
    const std::uint32_t asked = ctx_.ticks(p.doubted_abort);
    // It answers what we asked after the ABORT.
    if (!s.at_or_before(asked, c.newest_tx_ts) || !s.at_or_before(c.newest_tx_ts, ctx_.ticks(now))) return;
    p.doubted_abort = kNever;
    ++ctx_.stats.rx_abort_denied;
}

}  // namespace csaud
