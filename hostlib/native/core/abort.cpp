#include "abort.hpp"

namespace csaud {

void AbortState::enter(Status status, std::uint16_t rank, bool flood, Nanos now) {
    status_ = status;
    rank_ = rank;
    rounds_left_ = flood ? ctx_.config.abort_repeats : 0;
    if (rounds_left_ != 0) on_timer(now);
}

void AbortState::tell(std::uint16_t peer) {
    ControlItem item;
    item.type = wire::Type::abort;
    item.reason = status_ == Status::peer_unreachable ? wire::Reason::peer_dead : wire::Reason::user_abort;
    item.peer = peer;
    item.name.epoch = ctx_.config.epoch;
    item.name.src_rank = rank_;
    ctx_.control.push(item);
}

void AbortState::on_timer(Nanos now) {
    for (std::uint32_t r = 0; r < ctx_.config.world; ++r) {
        if (ctx_.peers.known(static_cast<std::uint16_t>(r))) tell(static_cast<std::uint16_t>(r));
    }
    if (--rounds_left_ != 0) ctx_.timers.arm(TimerKind::abort, 0, now + ctx_.config.abort_spacing);
}

void AbortState::reply(Peer& p, Nanos now) {
    if (p.last_abort_reply != 0 && now - p.last_abort_reply < ctx_.config.abort_spacing) return;
    p.last_abort_reply = now;
    tell(p.rank);
}

}  // namespace csaud
