// One message being put together: each packet at its place in the posted buffer, guided by a bitmap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "csaud_host/base/bitmap.hpp"

namespace csaud {

// How a message of `bytes` is cut: full packets of `payload` bytes and a rest; an empty message is one
// packet.
struct Cut {
    std::size_t payload = 0;
    std::size_t bytes = 0;

    std::size_t packets() const noexcept { return bytes == 0 ? 1 : (bytes + payload - 1) / payload; }
    std::size_t length_of(std::size_t idx) const noexcept {
        const std::size_t begin = idx * payload;
        return begin >= bytes ? 0 : (bytes - begin < payload ? bytes - begin : payload);
    }
};

// Could a packet of `length` bytes be number `idx` of `total`, of a message whose size is not known?
constexpr bool plausible_cut(std::size_t payload, std::size_t idx, std::size_t total,
                             std::size_t length) noexcept {
    if (total == 0 || total > kMaxPackets || idx >= total || length > payload) return false;
    if (idx + 1 < total) return length == payload;
    return total == 1 || length > 0;
}

// Arrival state of a message of a known number of packets. Knows no buffer until attach().
class Reassembly {
  public:
    void reset(std::size_t total) noexcept {
        arrived_.clear();
        total_ = static_cast<std::uint16_t>(total);
        received_ = cumulative_ = high_ = 0;
    }

    // Marks packet `idx`; true if it is new.
    bool mark(std::size_t idx) noexcept {
        if (!arrived_.set(idx)) return false;
        ++received_;
        high_ = std::max(high_, static_cast<std::uint16_t>(idx + 1));
        if (idx == cumulative_) cumulative_ = static_cast<std::uint16_t>(arrived_.first_clear(idx, total_));
        return true;
    }
    // All below `idx` is here, and nothing else; it is not the last one.
    bool up_to(std::size_t idx) const noexcept {
        return idx == high_ && idx == cumulative_ && idx + 1 < total_;
    }
    // Marks the packet up to which all is here.
    void mark_next() noexcept {
        arrived_.set(high_);
        ++received_;
        cumulative_ = ++high_;
    }
    // Copies a packet to its place. The buffer is attached, the length was checked against the cut.
    void place(const Cut& cut, std::span<std::byte> buffer, std::size_t idx,
               std::span<const std::byte> payload) const noexcept {
        if (!payload.empty()) [[likely]]
            std::memcpy(buffer.data() + idx * cut.payload, payload.data(), payload.size());
    }

    bool has(std::size_t idx) const noexcept { return arrived_.test(idx); }
    bool complete() const noexcept { return received_ == total_; }
    std::size_t total() const noexcept { return total_; }
    std::size_t received() const noexcept { return received_; }
    std::size_t missing() const noexcept { return total_ - received_; }
    std::size_t first_missing() const noexcept { return cumulative_; }
    std::size_t high() const noexcept { return high_; }  // one more than the highest index that arrived
    std::size_t next_missing(std::size_t from, std::size_t end) const noexcept {
        return arrived_.first_clear(from, end);
    }
    const Bitmap& bitmap() const noexcept { return arrived_; }

  private:
    Bitmap arrived_;
    std::uint16_t total_ = 0;
    std::uint16_t received_ = 0;
    std::uint16_t cumulative_ = 0;
    std::uint16_t high_ = 0;
};

}  // namespace csaud
