// What senders may send to us: credit, as their packets leave the early pool, and the window, as the network
// bears them. Both are kept with the peer; this decides when they move and when a peer is told.
#pragma once

#include <algorithm>
#include <cstdint>

#include "csaud_host/base/time.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/receiving/receives.hpp"

namespace csaud {

class Allowance {
  public:
    explicit Allowance(Context& c) : ctx_(c) {}

    // A DATA copy came that stood in queues for `late`, marked or not.
    void delivered(Peer& peer, std::uint16_t path, bool marked, Nanos late) {
        if (marked) [[unlikely]]
            note_mark(peer, path);
        peer.queueing.sample(late);
        ctx_.queueing.sample(late);
        if (ctx_.config.shaping && peer.arrivals.sample(late)) [[unlikely]]
            judge(peer);
    }
    // A switch cut one.
    void cut(Peer&);

    // New packets of a posted receive lie in its buffer.
    void consumed(Peer& peer, std::uint32_t packets) {
        // A window that has grown needs as much credit.
        peer.grant.consumed(packets, std::max(ctx_.config.window, peer.arrivals.size()), ctx_.credit_budget);
    }
    // May the peer be ahead of what we have posted by one more packet?
    static bool early(const Peer& peer) noexcept { return peer.early < peer.grant.open(); }
    // This receive's sender gets its share of what may be under way to us.
    void share(const Receive& m, Peer& peer) noexcept {
        if (!ctx_.config.shaping) return;
        // Where the schedule says how many send to us at full rate, those of them that we still wait for;
        // otherwise those that are sending.
        const std::uint32_t senders =
            m.fan_in != 0 ? std::min<std::uint32_t>(m.fan_in, ctx_.awaited) : ctx_.senders;
        const bool alone = m.scheduled && ctx_.senders <= 1 && (m.fan_in == 0 || ctx_.awaited == 1);
        peer.arrivals.set_share(ctx_.config, senders, alone);
    }

    // Tells the peer if there is news enough; `echo_ts`: tx_ts of what brought it, 0: nothing did.
    void tell_if_due(Peer& peer, std::uint32_t echo_ts) {
        peer.echo_ts = echo_ts;
        if (!peer.credit_queued && (peer.grant.worth_telling() || peer.arrivals.worth_telling())) tell(peer);
    }
    void tell(Peer&);

  private:
    void note_mark(Peer&, std::uint16_t path);
    // As many packets have come as the window has.
    void judge(Peer&);
    // Longest time that a peer's packets may stand in queues before marks shrink its window.
    Nanos queueing_target(const Peer& p) const noexcept {
        return std::max(p.rtt.base(), ctx_.config.timer_tick);
    }

    Context& ctx_;
};

}  // namespace csaud
