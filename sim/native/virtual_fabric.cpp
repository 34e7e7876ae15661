#include "virtual_fabric.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace csaud::sim {

namespace {

// Switches do not look at MAC addresses, and endpoints begin with the IPv4 header.
constexpr std::size_t kEthernetBytes = 14;
constexpr std::array<std::uint8_t, kEthernetBytes> kEthernet = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0};

void append(std::vector<std::uint8_t>& frame, std::span<const std::byte> bytes) {
    const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
    frame.insert(frame.end(), begin, begin + bytes.size());
}

}  // namespace

void VirtualFabric::add_rank(const EndpointConfig& config, sw::Switch& at, sw::PortId port,
                             std::uint64_t nic_rate_bps) {
    if (config.rank != hosts_.size()) throw std::invalid_argument("ranks are added in their order");
    hosts_.push_back(Host{std::make_unique<Endpoint>(config), &at, port, nic_rate_bps, 0, true, {}});
}

bool VirtualFabric::quiet() const {
    return fabric_.next_event() == sw::kNever && std::ranges::all_of(hosts_, [&](const Host& host) {
               return !host.alive || host.endpoint->quiescent(now_);
           });
}

void VirtualFabric::send(Host& host) {
    TxPacket packet;
    while (host.nic_free_at <= now_ && host.endpoint->next_tx(packet, now_)) {
        host.frame.assign(kEthernet.begin(), kEthernet.end());
        append(host.frame, std::span(packet.head).first(packet.head_len));
        append(host.frame, packet.payload);
        append(host.frame, std::span(packet.tail).first(packet.tail_len));
        fabric_.inject(*host.at, host.port, host.frame, now_);
        if (host.nic_rate_bps != 0) {
            const auto bits = static_cast<std::uint64_t>(host.frame.size()) * 8U;
            host.nic_free_at = now_ + static_cast<Nanos>(bits * 1'000'000'000U / host.nic_rate_bps);
        }
    }
}

void VirtualFabric::deliver() {
    for (const sw::OutFrame& frame : fabric_.take_frames()) {
        const auto host = std::ranges::find_if(
            hosts_, [&](const Host& h) { return h.at == frame.from && h.port == frame.port; });
        if (host == hosts_.end() || !host->alive || frame.bytes.size() < kEthernetBytes) continue;
        host->endpoint->on_packet(std::as_bytes(std::span(frame.bytes)).subspan(kEthernetBytes), now_);
    }
}

bool VirtualFabric::collect(std::vector<RankCompletion>& into) {
    for (Host& host : hosts_) {
        Completion completion;
        while (host.endpoint->next_completion(completion)) {
            into.push_back({host.endpoint->config().rank, completion});
        }
    }
    return !into.empty();
}

Nanos VirtualFabric::next_event() const {
    Nanos next = fabric_.next_event();
    for (const Host& host : hosts_) {
        if (!host.alive) continue;
        // A NIC that is busy looks for more to send when it is free.
        if (host.nic_free_at > now_) next = std::min(next, host.nic_free_at);
        next = std::min(next, std::max(host.endpoint->next_deadline(), now_));
    }
    return next;
}

std::vector<RankCompletion> VirtualFabric::run(Nanos until) {
    std::vector<RankCompletion> completions;
    for (;;) {
        fabric_.advance(now_);
        deliver();
        for (Host& host : hosts_) {
            if (!host.alive) continue;
            if (host.endpoint->next_deadline() <= now_) host.endpoint->on_timer(now_);
            send(host);
        }
        if (collect(completions) || now_ >= until) return completions;
        const Nanos next = next_event();
        // What is due at this very moment may ask for another turn; time still has to pass in the end.
        now_ = std::min(until, std::max(next, now_ + 1));
    }
}

}  // namespace csaud::sim
