// Is a peer that we wait for still there? Silence counts only while we ran and asked: a beat (dead_after / 8)
// of silence brings a ping, each further beat another, and after dead_probes unanswered ones the peer is
// dead.
#pragma once

#include "csaud_host/base/time.hpp"
#include "csaud_host/peers/context.hpp"

namespace csaud {

class Liveness {
  public:
    explicit Liveness(Context& c) : ctx_(c) {}

    void heard(Peer& p, Nanos now) noexcept {
        p.last_heard = now;
        p.ever_heard = true;
        p.unanswered = 0;
    }

    // An unfinished message needs the peer / no longer does.
    void wait(Peer& p, Nanos now);
    void release(Peer& p);

    // Our own caller was away for long: what was unanswered may lie unread.
    void stalled(Nanos now) noexcept { resumed_at_ = now; }

    // The peer's timer fired; true: it is dead.
    bool on_timer(Peer& p, Nanos now);

    // Asks for an answer.
    void ping(Peer& p, Nanos now);

    // Queues a ping if the round trip to the peer is unknown or old.
    void measure(Peer& p, Nanos now) {
        if (now >= p.measure_at) measure_anew(p, now);
    }
    // It was measured.
    void measured(Peer& p, Nanos now) noexcept {
        if (p.rtt.settled()) p.measure_at = now + ctx_.config.rtt_refresh;
    }

    // Asks for an answer to a packet that takes this path.
    void ping_path(const Peer& p, std::uint16_t path);

  private:
    void measure_anew(Peer& p, Nanos now);
    ControlItem ping_of(const Peer& p) const;

    Context& ctx_;
    Nanos resumed_at_ = INT64_MIN;
};

}  // namespace csaud
