#include "csaud_host/peers/liveness.hpp"

#include <algorithm>

namespace csaud {

void Liveness::wait(Peer& p, Nanos now) {
    if (p.waits++ != 0) return;
    p.silent_since = now;
    p.unanswered = 0;
    ctx_.timers.arm(TimerKind::peer, p.rank, now + ctx_.beat());
}

void Liveness::release(Peer& p) {
    if (--p.waits == 0) ctx_.timers.cancel(TimerKind::peer, p.rank);
}

void Liveness::ping(Peer& p, Nanos now) {
    p.last_ping = now;
    ctx_.control.push(ping_of(p));
}

void Liveness::ping_path(const Peer& p, std::uint16_t path) {
    ControlItem item = ping_of(p);
    item.flags = wire::kOfPath;
    item.path = item.via = path;
    ctx_.control.push(item);
}

ControlItem Liveness::ping_of(const Peer& p) const {
    ControlItem item;
    item.type = wire::Type::probe;
    item.reason = wire::Reason::ping;
    item.peer = p.rank;
    item.name.epoch = ctx_.config.epoch;
    item.name.src_rank = ctx_.config.rank;
    return item;
}

bool Liveness::on_timer(Peer& p, Nanos now) {
    if (p.waits == 0) return false;
    if (p.silent_since < resumed_at_) {
        p.silent_since = resumed_at_;
        p.unanswered = 0;
    }
    const Nanos quiet_since = p.ever_heard ? std::max(p.last_heard, p.silent_since) : p.silent_since;
    Nanos due = quiet_since + ctx_.beat();
    if (p.unanswered != 0) due = std::max(due, p.last_ping + ctx_.beat());
    if (now >= due) {
        if (p.unanswered >= ctx_.config.dead_probes) return true;
        ++p.unanswered;
        ping(p, now);
        due = now + ctx_.beat();
    }
    ctx_.timers.arm(TimerKind::peer, p.rank, due);
    return false;
}

void Liveness::measure_anew(Peer& p, Nanos now) {
    // A few samples soon, so that one of them finds the queues empty; then now and then.
    const Nanos soon = 4 * (p.rtt.measured() ? p.rtt.smoothed() : ctx_.patience_to_ask(p));
    const Nanos period = p.rtt.settled() ? ctx_.config.rtt_refresh : std::min(soon, ctx_.config.rtt_refresh);
    if (p.rtt.measured() && now - p.rtt.last_sample() < period) return;
    if (p.last_ping != 0 && now - p.last_ping < period) return;
    ping(p, now);
}

}  // namespace csaud
