#include "csaud_sim/plain/network.hpp"

#include <stdexcept>
#include <string>

namespace csaud::sim::plain {

std::uint32_t Network::add_switch(std::uint32_t seed) {
    const auto number = static_cast<std::uint32_t>(switches_.size());
    switches_.push_back(std::make_unique<Switch>(around_, model_, hosts_, number, seed));
    return number;
}

Link& Network::lead(LinkEnd to, const Wire& wire, bool to_switch) {
    const auto number = static_cast<std::uint32_t>(links_.size());
    links_.push_back(std::make_unique<Link>(around_, number, to, wire.rate_bps, wire.delay,
                                            to_switch ? around_.model.pipeline : 0));
    return *links_.back();
}

// Two delays and the pipeline, the frame that the pause waits for, the one that has begun at the other end,
// and the pause itself.
std::uint64_t headroom(const Wire& wire, Nanos pipeline) {
    constexpr std::uint64_t kLongest = 9'728, kFrames = 3;
    const auto way = static_cast<std::uint64_t>(2 * wire.delay + pipeline);
    return way * wire.rate_bps / 8'000'000'000U + kFrames * kLongest;
}

void Network::reserve(Switch& at, const Wire& wire) {
    at.reserve(headroom(wire, around_.model.pipeline));
    if (!model_.pfc || at.headroom() < model_.buffer_bytes) return;
    throw std::invalid_argument("a buffer of " + std::to_string(model_.buffer_bytes) + " bytes, of which " +
                                std::to_string(at.headroom()) + " are headroom of the switch's ports");
}

std::pair<std::uint16_t, std::uint16_t> Network::add_link(std::uint32_t a, std::uint32_t b,
                                                          const Wire& wire) {
    Switch& first = switch_at(a);
    Switch& second = switch_at(b);
    Port& at_first = first.add_port();
    Port& at_second = second.add_port();
    at_first.out = &lead({&second, at_second.id}, wire, true);
    at_second.out = &lead({&first, at_first.id}, wire, true);
    reserve(first, wire);
    reserve(second, wire);
    return {at_first.id, at_second.id};
}

Network::Attached Network::attach(Node& host, std::uint32_t at, const Wire& wire) {
    Switch& to = switch_at(at);
    Port& port = to.add_port();
    port.out = &lead({&host, 0}, wire, false);
    reserve(to, wire);
    hosts_.hosts.push_back({at, port.id});
    return {lead({&to, port.id}, wire, true), port.id};
}

}  // namespace csaud::sim::plain
