// A packet between hosts of a plain network: what its switches look at, and what transports say to each
// other. There are no bytes; a packet is as long as it says.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "csaud_host/wire/message_name.hpp"
#include "csaud_sim/engine/engine.hpp"

namespace csaud::sim::plain {

// What a packet is to the fabric; numbered as in the P4 program's counters.
enum class Kind : std::uint8_t { data = 1, control = 2, cut = 3 };
inline constexpr std::size_t kKinds = 4;

struct Packet {
    Packet* next = nullptr;  // in a queue or free list

    // --- for switches
    std::uint16_t src = 0, dst = 0;  // hosts
    std::uint32_t entropy = 0;       // with both: the flow that hashes see, as a UDP source port says it
    std::uint32_t bytes = 0;         // of the frame, from its MAC addresses on and without FCS
    Kind kind = Kind::data;
    bool listens = false;   // to congestion marks (ECT)
    bool cut_last = false;  // it was cut at its receiver's own link
    bool marked = false;    // (CE)

    // --- for transports
    std::uint8_t type = 0;   // a transport's own
    bool last = false;       // of its message
    bool again = false;      // a retransmission
    std::uint16_t path = 0;  // that the sender chose
    std::uint32_t connection = 0;
    std::uint32_t psn = 0, ack = 0;
    std::uint32_t payload = 0;  // bytes
    MessageName name;
    Nanos sent = 0;                       // when its host gave it to the NIC
    std::array<std::uint64_t, 3> more{};  // whatever else a transport says

    // --- where it is
    Nanos due = 0;         // on a link: when it arrives; in a queue: since when
    std::uint16_t in = 0;  // the port of the present switch by which it came

    // What switches leave of DATA that has no room.
    void cut_to(std::uint32_t most_bytes) {
        kind = Kind::cut;
        bytes = bytes < most_bytes ? bytes : most_bytes;
        payload = 0;
        listens = false;
    }
};

// First in, first out.
class Queue {
  public:
    void push(Packet* packet) {
        packet->next = nullptr;
        (tail_ == nullptr ? head_ : tail_->next) = packet;
        tail_ = packet;
        ++count_;
        bytes_ += packet->bytes;
    }
    Packet* pop() {
        Packet* packet = head_;
        head_ = packet->next;
        if (head_ == nullptr) tail_ = nullptr;
        --count_;
        bytes_ -= packet->bytes;
        return packet;
    }
    Packet* head() const { return head_; }
    std::uint32_t count() const { return count_; }
    std::uint64_t bytes() const { return bytes_; }

  private:
    Packet* head_ = nullptr;
    Packet* tail_ = nullptr;
    std::uint32_t count_ = 0;
    std::uint64_t bytes_ = 0;
};

// Packets are made in blocks and used again.
class Pool {
  public:
    Packet* take() {
        if (free_ == nullptr) grow();
        Packet* packet = free_;
        free_ = packet->next;
        ++outstanding_;
        *packet = Packet{};
        return packet;
    }
    void give(Packet* packet) {
        packet->next = free_;
        free_ = packet;
        --outstanding_;
    }
    std::size_t outstanding() const { return outstanding_; }

  private:
    static constexpr std::size_t kBlock = 1024;

    void grow() {
        blocks_.push_back(std::make_unique<Packet[]>(kBlock));
        for (std::size_t i = 0; i < kBlock; ++i) {
            blocks_.back()[i].next = free_;
            free_ = &blocks_.back()[i];
        }
    }

    std::vector<std::unique_ptr<Packet[]>> blocks_;
    Packet* free_ = nullptr;
    std::size_t outstanding_ = 0;
};

}  // namespace csaud::sim::plain
