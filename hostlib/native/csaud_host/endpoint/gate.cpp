#include "csaud_host/endpoint/gate.hpp"

namespace csaud {

Gate::Gate(Context& c)
    : ctx_(c),
      expect_{c.config.local.qpn, c.config.qkey,        c.config.roce_port,
              c.config.loss_port, c.config.verify_icrc, c.config.auth.bytes()},
      data_(expect_, c.config.epoch) {}

const wire::Decoded* Gate::refuse(wire::Fault fault) noexcept {
    switch (fault) {
        case wire::Fault::none:
            break;
        case wire::Fault::length:
            ++ctx_.stats.rx_bad_length;
            break;
        case wire::Fault::icrc:
            ++ctx_.stats.rx_bad_icrc;
            break;
        case wire::Fault::magic:
            ++ctx_.stats.rx_bad_magic;
            break;
        case wire::Fault::qkey:
            ++ctx_.stats.rx_bad_qkey;
            break;
        case wire::Fault::qpn:
            ++ctx_.stats.rx_bad_qpn;
            break;
    }
    return nullptr;
}

// Does a packet come from where the rank that it names is? A switch that cuts DATA leaves the sender's
// address and queue pair, one that sends it back swaps them with the receiver's, whom the packet does not
// name: so it may come from any peer.
bool Gate::from_its_rank(const wire::Decoded& d) const noexcept {
    const bool control = wire::has_control_part(d.csa.type);
    const std::uint16_t rank = control ? d.control.from_rank : d.csa.name.src_rank;
    if (d.csa.type == wire::Type::loss && rank == ctx_.config.rank)
        return ctx_.peers.rank_at(d.route.src_ipv4, d.route.src_qpn) >= 0;
    return from(d.route, rank);
}

// Was it made by a rank of the job? What a switch has cut cannot show it any more.
bool Gate::authentic(const wire::Decoded& d) noexcept {
    const LocalAddress& own = ctx_.config.local;
    const auto tag = tag_of(ctx_.config.auth, {d.route.src_ipv4, own.ipv4, d.route.src_qpn, own.qpn},
                            d.headers, d.payload.size());
    std::byte differs{0};  // all bytes are compared, so that the time taken tells nothing
    for (std::size_t i = 0; i < tag.size(); ++i) differs |= tag[i] ^ d.tag[i];
    if (differs == std::byte{0}) return true;
    ++ctx_.stats.rx_bad_auth;
    return false;
}

const wire::Decoded* Gate::unpredicted(std::span<const std::byte> packet, std::uint32_t message) noexcept {
    const std::size_t length = data_.length_of(packet);
    if (length == 0) return examine(packet);
    ++unpredicted_;
    if (expect_.verify_icrc && !wire::intact(packet.first(length))) return refuse(wire::Fault::icrc);
    data_.read(packet.first(length), unknown_);
    if (!from(unknown_.route, unknown_.csa.name.src_rank)) {
        ++ctx_.stats.rx_bad_source;
        return nullptr;
    }
    // A message's first packet or its second one in a row promises more of them.
    Flow& flow = place_of(message);
    if (unknown_.csa.pkt_idx == 0 || flow.newcomer == message) {
        flow.headers.learn(packet);
        flow.packet = unknown_;
    }
    flow.newcomer = message;
    return take(packet, unknown_);
}

const wire::Decoded* Gate::examine(std::span<const std::byte> packet) noexcept {
    if (const wire::Fault fault = wire::decode(packet, expect_, other_); fault != wire::Fault::none)
        return refuse(fault);
    if (other_.csa.name.epoch != ctx_.config.epoch) {
        ++ctx_.stats.rx_stale_epoch;
        if (other_.route.src_ipv4 == ctx_.config.local.ipv4) count_inside(other_.csa.type);
        ctx_.stats.rx_stale_data +=
            other_.csa.type == wire::Type::data || other_.csa.type == wire::Type::parity;
        ctx_.stats.rx_stale_loss += other_.csa.type == wire::Type::loss;
        return nullptr;
    }
    if (!from_its_rank(other_)) {
        ++ctx_.stats.rx_bad_source;
        return nullptr;
    }
    return take(packet, other_);
}

}  // namespace csaud
