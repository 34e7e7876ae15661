// LOSS notices already seen, so that a second report of the same copy does nothing and is not counted twice.
// Remembers a fixed number of them, the oldest are forgotten first.
#pragma once

#include <cstdint>
#include <vector>

#include "csaud_host/base/flat_map.hpp"
#include "csaud_host/wire/message_name.hpp"

namespace csaud {

struct CopyName {
    MessageName message;
    std::uint16_t peer = 0;  // the other end
    std::uint16_t pkt_idx = 0;
    std::uint8_t attempt = 0;

    friend bool operator==(const CopyName&, const CopyName&) = default;
    friend std::uint64_t hash_value(const CopyName& c) noexcept {
        const std::uint64_t copy =
            (std::uint64_t{c.peer} << 32) | (std::uint64_t{c.pkt_idx} << 8) | c.attempt;
        return (hash_value(c.message) ^ copy) * 0x9e3779b97f4a7c15ULL >> 7;
    }
};

class LossNotices {
  public:
    // True the first time.
    bool add(const CopyName& copy) {
        if (contains(copy)) return false;
        if (order_.size() < kRemembered) {
            order_.push_back(copy);
        } else {
            seen_.erase(order_[oldest_]);
            order_[oldest_] = copy;
            oldest_ = (oldest_ + 1) % kRemembered;
        }
        seen_.put(copy, {});
        return true;
    }

    bool contains(const CopyName& copy) const noexcept { return seen_.find(copy) != nullptr; }

    std::size_t bytes() const noexcept { return order_.capacity() * sizeof(CopyName) + seen_.bytes(); }

  private:
    static constexpr std::size_t kRemembered = 8192;
    struct Nothing {};

    std::size_t oldest_ = 0;
    std::vector<CopyName> order_;
    FlatMap<CopyName, Nothing> seen_;
};

}  // namespace csaud
