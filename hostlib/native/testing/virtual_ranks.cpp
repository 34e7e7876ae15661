// The virtual network: what befalls ranks, and what is read out afterwards.
#include <algorithm>
#include <stdexcept>

#include "edge_of_memory.hpp"
#include "virtual_network.hpp"

namespace csaud::testing {

void VirtualNetwork::stop(std::uint16_t rank) {
    ranks_.at(rank).stopped = true;
}

void VirtualNetwork::resume(std::uint16_t rank) {
    Rank& r = ranks_.at(rank);
    r.stopped = false;
    std::vector<std::shared_ptr<Bytes>> inbox;
    inbox.swap(r.inbox);
    std::size_t longest = 0;
    for (const auto& packet : inbox) longest = std::max(longest, packet->size());
    EdgeOfMemory copies(inbox.size(), longest);
    std::vector<std::span<const std::byte>> packets;
    for (const auto& packet : inbox) packets.push_back(copies.copy(*packet));
    r.endpoint->on_packets(packets, now_, [](std::size_t) {});
    r.timer_at = kNever;
    service(rank);
}

void VirtualNetwork::kill(std::uint16_t rank) {
    ranks_.at(rank).dead = true;
}

void VirtualNetwork::begin_again(std::uint16_t epoch) {
    for (std::uint16_t rank = 0; rank < world(); ++rank) {
        Rank& r = ranks_[rank];
        EndpointConfig config = r.endpoint->config();
        config.epoch = epoch;
        make_endpoint(rank, config);  // before its buffers go
        r.buffers.clear();
        r.completions.clear();
        r.inbox.clear();
        r.stopped = r.dead = false;
    }
    unfinished_ = 0;
}

void VirtualNetwork::inject(std::uint16_t rank, std::span<const std::byte> packet) {
    Rank& r = ranks_.at(rank);
    if (r.stopped) {
        r.inbox.push_back(std::make_shared<Bytes>(packet.begin(), packet.end()));
        return;
    }
    r.endpoint->on_packet(packet, now_);
    service(rank);
}

const std::vector<std::byte>& VirtualNetwork::last_packet(std::uint16_t rank, wire::Type type) const {
    static const Bytes kNothing;
    const auto& packets = ranks_.at(rank).last_packets;
    const auto found = packets.find(static_cast<int>(type));
    return found == packets.end() ? kNothing : found->second;
}

std::vector<Completion> VirtualNetwork::completions(std::uint16_t rank) {
    std::vector<Completion> taken;
    taken.swap(ranks_.at(rank).completions);
    return taken;
}

const std::vector<std::byte>& VirtualNetwork::received(std::uint16_t rank, std::uint64_t id) const {
    return ranks_.at(rank).buffers.at(id);
}

std::string VirtualNetwork::unbalanced() const {
    Stats sum;
    for (const Rank& r : ranks_) {
        const Stats& s = r.endpoint->stats();
#define CSAUD_ADD(name, help) sum.name += s.name;
        CSAUD_STATS(CSAUD_ADD)
#undef CSAUD_ADD
    }
    std::string wrong;
    const auto say = [&](const char* what, std::uint64_t hosts, std::uint64_t fabric) {
        wrong += std::string(what) + ": hosts " + std::to_string(static_cast<std::int64_t>(hosts)) +
                 ", fabric " + std::to_string(static_cast<std::int64_t>(fabric)) + "; ";
    };
    const auto equal = [&](const char* what, std::uint64_t hosts, std::uint64_t fabric) {
        if (hosts != fabric) say(what, hosts, fabric);
    };
    const auto at_most = [&](const char* what, std::uint64_t hosts, std::uint64_t fabric) {
        if (hosts > fabric) say(what, hosts, fabric);
    };
    const FabricCounts& c = counts_;
    const std::uint64_t lost = c.data_dropped + c.data_cut + c.data_corrupted;
    const std::uint64_t rtx = sum.rtx_loss + sum.rtx_gap + sum.rtx_interval + sum.rtx_probe;
    equal("DATA copies lost", sum.tx_data + c.data_duplicated - sum.rx_data, lost);
    equal("retransmissions and repairs less duplicates",
          rtx + sum.rx_by_parity + c.data_duplicated - sum.rx_duplicates, lost);
    equal("PARITY lost", sum.tx_parity + c.parity_duplicated - sum.rx_parity, c.parity_dropped);
    equal("LOSS notices", sum.rx_loss_notices + sum.rx_loss_repeats + c.loss_dropped,
          c.data_trimmed + c.data_bounced);
    equal("LOSS notices by kind", sum.rx_loss_trimmed + sum.rx_loss_bounced, sum.rx_loss_notices);
    at_most("LOSS notices for receivers", sum.rx_loss_trimmed, c.data_trimmed);
    at_most("LOSS notices for senders", sum.rx_loss_bounced, c.data_bounced);
    at_most("copies resent for a notice", sum.rtx_loss, c.data_cut);
    // Only a copy that the fabric doubled can be reported twice.
    if (c.data_duplicated == 0) equal("repeated LOSS notices", sum.rx_loss_repeats, 0);
    at_most("DATA with a mark", sum.rx_ecn, c.data_marked + c.data_duplicated);
    at_most("marks told of", sum.rx_ecn_echoes, sum.rx_ecn);
    equal("control packets lost", sum.tx_control + c.control_duplicated - sum.rx_control, c.control_dropped);
    equal("early data dropped", sum.rx_early_dropped, 0);
    equal("bad sources and indices", sum.rx_bad_source + sum.rx_bad_index + sum.rx_bad_loss, 0);
    return wrong;
}

namespace {
std::vector<std::byte> loss_of(wire::Decoded d, std::span<const std::byte> packet, std::uint16_t loss_port,
                               const LossSignal& signal) {
    d.csa.type = wire::Type::loss;
    d.csa.flags |= wire::kTrimmed;
    d.route.icrc = signal.icrc;
    if (!signal.icrc) d.route.dst_port = loss_port;
    std::vector<std::byte> out(wire::kHeaderBytes);
    const std::size_t most = packet.size() - wire::kIcrcBytes;
    const std::size_t kept = signal.icrc ? wire::kHeaderBytes : std::min(signal.kept, most);
    wire::encode_headers(out, d.route, d.csa, kept - wire::kHeaderBytes);
    if (signal.icrc) {
        const auto crc = wire::icrc(out, {}, 0);
        out.insert(out.end(), crc.begin(), crc.end());
    } else {
        const auto rest = packet.first(kept).subspan(wire::kHeaderBytes);
        out.insert(out.end(), rest.begin(), rest.end());
    }
    return out;
}

wire::Decoded data_of(std::span<const std::byte> packet) {
    wire::Decoded d;
    if (wire::decode_any(packet, d) != wire::Fault::none || d.csa.type != wire::Type::data)
        throw std::invalid_argument("only DATA can be cut");
    return d;
}
}  // namespace

std::vector<std::byte> trimmed(std::span<const std::byte> packet, std::uint16_t loss_port,
                               const LossSignal& signal) {
    return loss_of(data_of(packet), packet, loss_port, signal);
}

std::vector<std::byte> bounced(std::span<const std::byte> packet, std::uint16_t loss_port,
                               const LossSignal& signal) {
    wire::Decoded d = data_of(packet);
    std::swap(d.route.src_ipv4, d.route.dst_ipv4);
    std::swap(d.route.src_qpn, d.route.dst_qpn);
    return loss_of(d, packet, loss_port, signal);
}

}  // namespace csaud::testing
