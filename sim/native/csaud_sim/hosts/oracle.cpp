#include "csaud_sim/hosts/oracle.hpp"

#include <utility>

#include "csaud_sim/hosts/host.hpp"

namespace csaud::sim {

// As a switch would bounce it, so that the endpoint takes it for what it is.
void Oracle::lost(const wire::Decoded& data, Nanos now) {
    const std::uint16_t rank = data.csa.name.src_rank;
    if (rank >= hosts_.size()) return;
    wire::CsaHeader csa = data.csa;
    csa.type = wire::Type::loss;
    csa.flags |= wire::kTrimmed;
    wire::Route route = data.route;
    std::swap(route.src_ipv4, route.dst_ipv4);
    std::swap(route.src_qpn, route.dst_qpn);
    route.dst_port = hosts_[rank]->endpoint().config().loss_port;
    route.icrc = false;
    Notice& notice = notices_.emplace_back(Notice{rank, {}});
    wire::encode_headers(notice.packet, route, csa, 0);
    engine_.at(now + delay_, *this, 0);
}

void Oracle::act(std::uint32_t, Nanos now) {
    const Notice notice = notices_.front();
    notices_.pop_front();
    hosts_[notice.rank]->take(notice.packet, now);
}

}  // namespace csaud::sim
