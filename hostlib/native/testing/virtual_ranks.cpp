// The virtual network: what befalls ranks, and what is read out afterwards.
#include <algorithm>
#include <stdexcept>

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
    for (const auto& packet : inbox) r.endpoint->on_packet(*packet, now_);
    r.timer_at = kNever;
    service(rank);
}

void VirtualNetwork::kill(std::uint16_t rank) {
    ranks_.at(rank).dead = true;
}

void VirtualNetwork::inject(std::uint16_t rank, std::span<const std::byte> packet) {
    ranks_.at(rank).endpoint->on_packet(packet, now_);
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
        sum.tx_data += s.tx_data;
        sum.rx_data += s.rx_data;
        sum.rx_duplicates += s.rx_duplicates;
        sum.rtx_loss += s.rtx_loss;
        sum.rtx_gap += s.rtx_gap;
        sum.rtx_interval += s.rtx_interval;
        sum.rtx_probe += s.rtx_probe;
        sum.rx_loss_notices += s.rx_loss_notices;
        sum.rx_loss_repeats += s.rx_loss_repeats;
        sum.tx_control += s.tx_control;
        sum.rx_control += s.rx_control;
        sum.rx_early_dropped += s.rx_early_dropped;
        sum.rx_bad_index += s.rx_bad_index;
    }
    std::string wrong;
    const auto equal = [&](const char* what, std::uint64_t hosts, std::uint64_t fabric) {
        if (hosts == fabric) return;
        wrong += std::string(what) + ": hosts " + std::to_string(static_cast<std::int64_t>(hosts)) +
                 ", fabric " + std::to_string(static_cast<std::int64_t>(fabric)) + "; ";
    };
    const std::uint64_t lost = counts_.data_dropped + counts_.data_trimmed + counts_.data_corrupted;
    const std::uint64_t rtx = sum.rtx_loss + sum.rtx_gap + sum.rtx_interval + sum.rtx_probe;
    equal("DATA copies lost", sum.tx_data + counts_.data_duplicated - sum.rx_data, lost);
    equal("retransmissions less duplicates", rtx + counts_.data_duplicated - sum.rx_duplicates, lost);
    equal("LOSS notices", sum.rx_loss_notices + sum.rx_loss_repeats + counts_.loss_dropped,
          counts_.data_trimmed);
    // Only a copy that the fabric doubled can be reported twice.
    if (counts_.data_duplicated == 0) equal("repeated LOSS notices", sum.rx_loss_repeats, 0);
    equal("control packets lost", sum.tx_control + counts_.control_duplicated - sum.rx_control,
          counts_.control_dropped);
    equal("early data dropped", sum.rx_early_dropped, 0);
    equal("bad indices", sum.rx_bad_index, 0);
    return wrong;
}

std::vector<std::byte> trimmed(std::span<const std::byte> packet, std::uint16_t loss_port) {
    wire::Decoded d;
    if (wire::decode_any(packet, d) != wire::Fault::none)
        throw std::invalid_argument("trimmed: not a CSA packet");
    d.csa.type = wire::Type::loss;
    d.csa.flags |= wire::kTrimmed;
    d.route.dst_port = loss_port;
    std::vector<std::byte> out(wire::kHeaderBytes);
    wire::encode_headers(out, d.route, d.csa, 0);
    return out;
}

}  // namespace csaud::testing
