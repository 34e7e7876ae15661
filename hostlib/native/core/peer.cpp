#include "peer.hpp"

namespace csaud {

PeerTable::PeerTable(const EndpointConfig& config)
    : config_(config), addresses_(config.world), ranks_(config.world) {}

void PeerTable::set_address(std::uint16_t rank, std::uint32_t ipv4, std::uint32_t qpn) {
    addresses_[rank].ipv4 = ipv4;
    addresses_[rank].qpn = qpn;
    ranks_.put({ipv4, qpn}, rank);
}

std::int32_t PeerTable::rank_at(std::uint32_t ipv4, std::uint32_t qpn) const noexcept {
    const std::uint16_t* rank = ranks_.find({ipv4, qpn});
    return rank == nullptr ? -1 : *rank;
}

Peer& PeerTable::get(std::uint16_t rank) {
    PeerAddress& a = addresses_[rank];
    if (a.active == kNone) {
        a.active = pool_.take();
        Peer& p = pool_[a.active];
        const std::uint32_t window = initial_window(config_);
        p.rank = rank;
        p.credit = CreditAccount(window);
        p.grant = CreditGrant(window);
        // Ranks begin their rounds at different paths, so that they do not meet on the same one.
        p.paths = RoundRobinPaths(config_.paths, std::uint32_t{config_.rank} * 7 + rank);
        p.tx_seq.assign(config_.paths, 0);
        p.rx_paths.assign(config_.paths, PathTracker{});
        p.rtt = RttEstimator(config_.rtt_initial);
    }
    return pool_[a.active];
}

}  // namespace csaud
