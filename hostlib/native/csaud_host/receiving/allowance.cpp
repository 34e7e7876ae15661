#include "csaud_host/receiving/allowance.hpp"

#include <memory>

namespace csaud {

void Allowance::note_mark(Peer& peer, std::uint16_t path) {
    ++ctx_.stats.rx_ecn;
    ++ctx_.stats.rx_path_ecn[path];
    peer.arrivals.marked();
    if (peer.ecn == nullptr) peer.ecn = std::make_unique<PeerEcn>();
    peer.ecn->from.marked(path, ctx_.config.paths);
}

void Allowance::cut(Peer& peer) {
    if (!ctx_.config.shaping) return;
    peer.arrivals.marked();
    if (peer.arrivals.sample(2 * queueing_target(peer))) judge(peer);
}

void Allowance::judge(Peer& peer) {
    peer.arrivals.judge(queueing_target(peer));
}

void Allowance::tell(Peer& peer) {
    if (peer.credit_queued) return;
    peer.credit_queued = true;
    MessageName job;
    job.epoch = ctx_.config.epoch;
    ctx_.control.push(control_item(wire::Type::credit, wire::Reason::none, peer.rank, job));
}

}  // namespace csaud
