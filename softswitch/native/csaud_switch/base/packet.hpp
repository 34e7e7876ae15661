// A frame in the switch, with the words of its fields, and the pool that packets come from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "csaud_switch/base/value.hpp"

namespace csaud::sw {

inline constexpr std::uint32_t kMaxHeaderBytes = 512;  // that a program may add, as on the reference
inline constexpr std::uint32_t kHeadroom = kMaxHeaderBytes + 16;  // stores of 16 bytes begin before a header
inline constexpr std::uint32_t kMaxFrame = 9728;
inline constexpr std::uint32_t kNoTruncation = UINT32_MAX;
inline constexpr std::uint16_t kNoBytes = UINT16_MAX;

// Where a header's bytes lie in the buffer since it was extracted, and whether a field was written since.
struct HeaderState {
    std::uint16_t bytes_at = kNoBytes;
    bool dirty = false;
};

// What a packet on a link or in a queue is looked at for is in the first line of the cache.
struct alignas(64) Packet {
    Packet* next = nullptr;  // in a queue or free list
    std::unique_ptr<std::uint8_t[]> buffer;
    Nanos enqueued_at = 0;
    std::uint32_t epoch = 0;   // of the link it travels on
    std::uint32_t start = 0;   // offset of the frame's first byte, or of its payload while it is parsed
    std::uint32_t length = 0;  // bytes from start
    std::uint32_t ingress_length = 0;
    // What packet_length becomes in egress: headers added and removed counted.
    std::uint32_t program_length = 0;
    std::uint32_t truncate_to = kNoTruncation;
    std::uint32_t capacity = 0;  // longest frame
    std::uint8_t size_class = 0;
    std::uint8_t priority = 0;
    bool exit = false;
    bool asserted = false;  // an assertion of the program failed
    bool finished = false;  // queued, and egress is behind it: the program was replaced

    // While a program works on it: the words of its fields, and the states of its headers.
    std::vector<std::uint64_t> slots;
    std::vector<HeaderState> headers;
    PortId ingress_port = 0;
    PortId egress_port = 0;
    std::uint64_t enqueued_us = 0;  // since the switch's start

    // While it is queued without these: what egress will need of them.
    std::vector<std::uint64_t> kept;
    std::uint32_t clone_request = 0;  // session + 1, 0 for none
    std::uint32_t clone_fields = 0;
    std::uint32_t resubmit = 0;     // field list + 1, 0 for none
    std::uint32_t recirculate = 0;  // likewise
    std::uint32_t digest = 0;       // + 1, 0 for none
    std::uint32_t passes = 0;       // how often it was resubmitted or recirculated

    std::uint8_t* data() { return buffer.get() + start; }
    const std::uint8_t* data() const { return buffer.get() + start; }
    std::uint32_t visible_length() const { return length < truncate_to ? length : truncate_to; }
    std::span<const std::uint8_t> frame() const { return {data(), visible_length()}; }
    // The frame as it came, before a deparser has written it: while a program works on it, `start` has moved.
    std::span<const std::uint8_t> received() const {
        return {data() + length - ingress_length, ingress_length};
    }

    // Everything but the frame as for a packet that has just arrived.
    void reset(PortId port);
};

// Words that packets do not need now, for those that need some next: the few that are in use stay in the
// processor's cache.
class Workspaces {
  public:
    void take_from(Packet& packet) {
        if (!packet.slots.empty()) free_.push_back({std::move(packet.slots), std::move(packet.headers)});
    }
    void give_to(Packet& packet) {
        if (free_.empty() || !packet.slots.empty()) return;
        packet.slots = std::move(free_.back().slots);
        packet.headers = std::move(free_.back().headers);
        free_.pop_back();
    }
    void take_kept_from(Packet& packet) {
        if (!packet.kept.empty()) kept_.push_back(std::move(packet.kept));
    }
    void give_kept_to(Packet& packet, std::size_t words) {
        if (!kept_.empty()) {
            packet.kept = std::move(kept_.back());
            kept_.pop_back();
        }
        packet.kept.resize(words);
    }

  private:
    struct Workspace {
        std::vector<std::uint64_t> slots;
        std::vector<HeaderState> headers;
    };

    // The last one was used last.
    std::vector<Workspace> free_;
    std::vector<std::vector<std::uint64_t>> kept_;
};

class PacketPool {
  public:
    PacketPool() = default;
    PacketPool(const PacketPool&) = delete;
    PacketPool& operator=(const PacketPool&) = delete;
    ~PacketPool();

    // A packet for a frame of this many bytes (kMaxFrame at most), start and length set.
    Packet* take(std::uint32_t frame_bytes);
    void give(Packet* packet);
    Packet* copy(const Packet& original);
    // Puts the frame where it would lie had it just come, in a larger buffer if need be. False: it has grown
    // longer than kMaxFrame, and nothing has changed.
    bool settle(Packet& packet);

    std::size_t outstanding() const { return outstanding_; }
    Workspaces& workspaces() { return workspaces_; }

  private:
    static constexpr std::array<std::uint32_t, 3> kClasses{1536, 4608, kMaxFrame};
    std::array<Packet*, 3> free_{};
    std::size_t outstanding_ = 0;
    Workspaces workspaces_;
};

}  // namespace csaud::sw
