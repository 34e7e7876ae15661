// DATA whose receive is not posted yet waits here, in packets of fixed size, at most a fixed number of them.
// Memory is taken from the system in slabs, when first needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "csaud_host/base/pool.hpp"

namespace csaud {

class EarlyPool {
  public:
    EarlyPool(std::size_t capacity_packets, std::size_t payload_bytes)
        : capacity_(capacity_packets), payload_(payload_bytes) {}

    struct Slot {
        std::uint32_t next = kNone;  // of the same message
        std::uint16_t idx = 0;
        std::uint16_t length = 0;
    };

    // Stores a packet in front of the list that begins at `head` and returns the new head; kNone: the pool is
    // full.
    std::uint32_t store(std::uint32_t head, std::uint16_t idx, std::span<const std::byte> payload);
    // Frees a packet and returns the next of its list.
    std::uint32_t release(std::uint32_t slot);

    const Slot& slot(std::uint32_t i) const noexcept { return slots_[i]; }
    std::span<const std::byte> payload(std::uint32_t i) const noexcept;

    std::size_t held() const noexcept { return held_; }
    std::size_t capacity() const noexcept { return capacity_; }
    std::size_t bytes_taken() const noexcept {
        return slots_.capacity() * sizeof(Slot) + slabs_.size() * kSlab * payload_;
    }

  private:
    static constexpr std::size_t kSlab = 64;  // packets

    std::byte* bytes(std::uint32_t i) const noexcept {
        return slabs_[i / kSlab].get() + (i % kSlab) * payload_;
    }

    std::size_t capacity_;
    std::size_t payload_;
    std::size_t held_ = 0;
    std::uint32_t free_ = kNone;
    std::vector<Slot> slots_;
    std::vector<std::unique_ptr<std::byte[]>> slabs_;
};

}  // namespace csaud
