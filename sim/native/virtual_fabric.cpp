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

void VirtualFabric::start(std::uint16_t rank, collectives::Execution& execution) {
    Host& host = hosts_.at(rank);
    collectives::EndpointPort port(*host.endpoint);
    host.executor.start(execution, port, now_);
}

// Reductions take no time.
void VirtualFabric::collect() {
    for (Host& host : hosts_) {
        collectives::EndpointPort port(*host.endpoint);
        Completion completion;
        while (host.endpoint->next_completion(completion)) {
            host.executor.on_completion(completion, port, now_);
            while (const auto piece = host.executor.next_piece()) {
                piece->work();
                host.executor.on_piece(port, now_);
            }
        }
    }
}

std::size_t VirtualFabric::running() const {
    std::size_t all = 0;
    for (const Host& host : hosts_) all += host.executor.running();
    return all;
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

bool VirtualFabric::run(Nanos until) {
    const std::size_t before = running();
    for (;;) {
        fabric_.advance(now_);
        deliver();
        for (Host& host : hosts_) {
            if (!host.alive) continue;
            if (host.endpoint->next_deadline() <= now_) host.endpoint->on_timer(now_);
            send(host);
        }
        collect();
        if (running() != before) return true;
        if (now_ >= until) return false;
        const Nanos next = next_event();
        // What is due at this very moment may ask for another turn; time still has to pass in the end.
        now_ = std::min(until, std::max(next, now_ + 1));
    }
}

}  // namespace csaud::sim
