#include "csaud_host/sending/path_watch.hpp"

#include <algorithm>
#include <memory>

namespace csaud {

void PathWatch::all_arrived(const SendMessage& m, Peer& peer) {
    for (std::size_t idx = m.arrived.first_clear(0, m.total); idx < m.total;
         idx = m.arrived.first_clear(idx + 1, m.total)) {
        const PacketRecord& r = sends_.record(m, idx);
        peer.paths.arrived(r.path, r.attempt);
    }
}

void PathWatch::lost(Peer& peer, const PacketRecord& r, PathFeedback found, Nanos now) {
    if (!peer.paths.lost(r.path, r.attempt, found)) return;
    ++ctx_.stats.paths_assumed_bad;
    probe_later(peer, now);
}

void PathWatch::marked(Peer& peer, std::uint16_t path, std::uint16_t count) {
    if (peer.ecn == nullptr) peer.ecn = std::make_unique<PeerEcn>();
    const std::uint16_t fresh = peer.ecn->to.heard(ctx_.ecn_serial, path, count, ctx_.config.paths);
    ctx_.stats.rx_ecn_echoes += fresh;
    ctx_.stats.tx_path_ecn[path] += fresh;
    if (fresh != 0) peer.paths.marked(path, fresh);
}

void PathWatch::probe_later(Peer& peer, Nanos now) {
    const Nanos period = std::max(8 * peer.rtt.patience(), ctx_.beat() / 16);
    ctx_.timers.arm_earlier(TimerKind::paths, peer.rank, now + period);
}

void PathWatch::on_timer(std::uint16_t rank, Nanos now) {
    Peer* peer = ctx_.peers.find(rank);
    if (peer == nullptr || peer->waits == 0 || !peer->paths.any_bad()) return;
    liveness_.ping_path(*peer, peer->paths.next_bad());
    probe_later(*peer, now);
}

void PathWatch::answered(Peer& peer, std::uint16_t path) {
    if (peer.paths.state(path) != PathState::assumed_bad) return;
    ++ctx_.stats.paths_recovered;
    peer.paths.answered(path);
}

}  // namespace csaud
