// A port of a switch: its priority queues and its figures.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/base/value.hpp"
#include "csaud_switch/fabric/tap.hpp"

namespace csaud::sw {

class Switch;

inline constexpr std::uint32_t kMaxPriorities = 64;

enum class PortKind : std::uint8_t { kMemory, kLink, kInterface };

struct PortFigures {
    std::uint64_t rx_packets = 0, rx_bytes = 0;
    std::uint64_t tx_packets = 0, tx_bytes = 0;
    std::uint64_t queued_max = 0;
    std::uint64_t queue_full = 0;
    std::uint64_t link_down_drops = 0;
    std::uint64_t rx_errors = 0;
    std::uint64_t tx_errors = 0;
};

struct PacketQueue {
    Packet* head = nullptr;
    Packet* tail = nullptr;
    std::uint32_t count = 0;

    void push(Packet* packet) {
        packet->next = nullptr;
        (tail == nullptr ? head : tail->next) = packet;
        tail = packet;
        ++count;
    }

    Packet* pop() {
        Packet* packet = head;
        head = packet->next;
        if (head == nullptr) tail = nullptr;
        --count;
        return packet;
    }
};

// What every packet needs comes first.
struct alignas(64) Port {
    PortId id = 0;
    PortKind kind = PortKind::kMemory;
    bool up = true;
    bool removed = false;
    bool wake_scheduled = false;
    bool serving = false;
    std::uint32_t queued = 0;
    std::uint32_t buffer = 1024;       // packets in each priority queue
    std::uint32_t overhead_bytes = 0;  // that a frame costs on the link beside its own: preamble, FCS, gap
    std::uint32_t channel = 0;         // what the wire knows this port by, 0: not at all
    std::uint32_t epoch = 0;           // one more each time that the link goes down
    std::uint64_t rate_bps = 0;        // 0: unlimited
    Nanos free_at = 0;                 // when the last bit of the packet in transmission has left
    std::uint64_t waiting = 0;         // bit n: queue n is not empty
    Nanos delay = 0;                   // of the link

    // The second line of the cache, as far as the figures of every packet.
    std::vector<Tap*> taps;  // who wants to see what passes
    PortFigures figures;

    // A link: the other end.
    Switch* peer_switch = nullptr;
    Port* peer = nullptr;

    // Strict priorities, the greatest number first.
    std::array<PacketQueue, kMaxPriorities> queues;

    int interface = -1;  // a network interface: index into the fabric's
    std::string ifname;

    // --- queues: each takes `buffer` packets of its priority
    bool has_room(const Packet& packet) const { return queues[packet.priority].count < buffer; }
    void push(Packet* packet) {
        queues[packet->priority].push(packet);
        waiting |= std::uint64_t{1} << packet->priority;
        ++queued;
        figures.queued_max = std::max<std::uint64_t>(figures.queued_max, queued);
    }
    // One is waiting.
    Packet* pop() {
        const int priority = 63 - std::countl_zero(waiting);
        PacketQueue& queue = queues[static_cast<std::size_t>(priority)];
        Packet* packet = queue.pop();
        --queued;
        if (queue.count == 0) waiting &= ~(std::uint64_t{1} << priority);
        return packet;
    }

    void tell(std::span<const std::uint8_t> frame, bool in, Nanos time) const {
        for (Tap* tap : taps) tap->frame(frame, in, time);
    }

    Nanos transmission_time(std::uint32_t bytes) const {
        if (rate_bps == 0) return 0;
        const auto bits = (static_cast<UWide>(bytes) + overhead_bytes) * 8U * 1'000'000'000U;
        return static_cast<Nanos>((bits + rate_bps - 1) / rate_bps);
    }
};

}  // namespace csaud::sw
