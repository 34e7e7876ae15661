#include "csaud_host/receiving/allowance.hpp"

#include <algorithm>
#include <memory>

namespace csaud {

void Allowance::note_mark(Peer& peer, std::uint16_t path) {
    ++ctx_.stats.rx_ecn;
    ++ctx_.stats.rx_path_ecn[path];
    if (peer.ecn == nullptr) peer.ecn = std::make_unique<PeerEcn>();
    peer.ecn->from.marked(path, ctx_.config.paths);
}

void Allowance::cut(Peer& peer) {
    if (!ctx_.config.shaping) return;
    const Nanos target = queueing_target(peer);
    peer.arrivals.sample(true, 2 * target, target, ctx_.config.window);
}

// Where the schedule says how many send to us at full rate, those of them that we still wait for; otherwise
// those that are sending.
void Allowance::share(const Receive& m, Peer& peer) noexcept {
    if (!ctx_.config.shaping) return;
    const std::uint32_t senders =
        m.fan_in != 0 ? std::min<std::uint32_t>(m.fan_in, ctx_.awaited) : ctx_.senders;
    peer.arrivals.set_share(window_share(ctx_.config, senders));
}

void Allowance::tell(Peer& peer) {
    if (peer.credit_queued) return;
    peer.credit_queued = true;
    MessageName job;
    job.epoch = ctx_.config.epoch;
    ctx_.control.push(control_item(wire::Type::credit, wire::Reason::none, peer.rank, job));
}

}  // namespace csaud
