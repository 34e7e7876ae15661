#include "csaud_host/endpoint/gate.hpp"

#include <cstring>

namespace csaud {

Gate::Gate(Context& c)
    : ctx_(c), expect_{c.config.local.qpn, c.config.qkey,        c.config.roce_port,
                       c.config.loss_port, c.config.verify_icrc, c.config.auth.bytes()} {}

void Gate::count(wire::Fault fault) noexcept {
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
}

// Does a packet come from where the rank that it names is? A switch that cuts DATA leaves the sender's
// address and queue pair, one that sends it back swaps them with the receiver's, whom the packet does not
// name: so it may come from any peer. Ranks that cannot be are counted where they are used.
bool Gate::from_its_rank(const wire::Decoded& d) const noexcept {
    const PeerTable::Address source{d.route.src_ipv4, d.route.src_qpn};
    const bool control = wire::has_control_part(d.csa.type);
    const std::uint16_t rank = control ? d.control.from_rank : d.csa.name.src_rank;
    if (d.csa.type == wire::Type::loss && rank == ctx_.config.rank)
        return ctx_.peers.rank_at(source.ipv4, source.qpn) >= 0;
    return !ctx_.peers.known(rank) || ctx_.peers.address(rank) == source;
}

// Was it made by a rank of the job? What a switch has cut cannot show it any more.
bool Gate::authentic(const wire::Decoded& d) const noexcept {
    if (d.csa.type == wire::Type::loss) return true;
    const LocalAddress& own = ctx_.config.local;
    const auto tag = tag_of(ctx_.config.auth, {d.route.src_ipv4, own.ipv4, d.route.src_qpn, own.qpn},
                            d.headers, d.payload.size());
    std::byte differs{0};  // all bytes are compared, so that the time taken tells nothing
    for (std::size_t i = 0; i < tag.size(); ++i) differs |= tag[i] ^ d.tag[i];
    return differs == std::byte{0};
}

Gate::Flow& Gate::flow_of(std::span<const std::byte> packet) noexcept {
    // Some bits of coll_seq, source and chunk.
    std::uint32_t seq, source;
    std::memcpy(&seq, packet.data() + wire::kCsaOffset + 12, sizeof seq);
    std::memcpy(&source, packet.data() + wire::kCsaOffset + 16, sizeof source);
    return flows_[((seq ^ source) * 0x9e3779b1U) >> 28];
}

bool Gate::examine(std::span<const std::byte> packet, wire::Decoded& d) noexcept {
    Stats& s = ctx_.stats;
    if (const wire::Fault fault = wire::decode(packet, expect_, d); fault != wire::Fault::none) {
        count(fault);
        return false;
    }
    if (d.csa.name.epoch != ctx_.config.epoch) {
        ++s.rx_stale_epoch;
        return false;
    }
    if (!from_its_rank(d)) {
        ++s.rx_bad_source;
        return false;
    }
    return true;
}

const wire::Decoded* Gate::admit(std::span<const std::byte> packet) noexcept {
    Stats& s = ctx_.stats;
    wire::Decoded* d = &other_;
    if (packet.size() < wire::kHeaderBytes) {
        count(wire::Fault::length);
        return nullptr;
    }
    Flow& flow = flow_of(packet);
    if (flow.headers.matches(packet)) {
        d = &flow.packet;
        if (expect_.verify_icrc && !wire::intact(packet.first(flow.headers.length()))) {
            ++s.rx_bad_icrc;
            return nullptr;
        }
        flow.headers.update(packet, *d);
    } else {
        const bool data = wire::type_of(packet) == wire::Type::data;
        if (data) {
            flow.headers.forget();
            d = &flow.packet;
        }
        if (!examine(packet, *d)) return nullptr;
        if (data) flow.headers.learn(packet);
    }
    if (ctx_.config.auth.on() && !authentic(*d)) {
        ++s.rx_bad_auth;
        return nullptr;
    }
    // Which of the paths it took. The rest is for its sender alone (Transmitter::path_id).
    d->csa.path_id %= ctx_.config.paths;
    s.rx_bytes += packet.size();
    return d;
}

}  // namespace csaud
