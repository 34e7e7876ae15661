// Buffers of a packet's payload, for rows of parity: a fixed number of them at most, memory taken in slabs
// when first needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "csaud_host/base/pool.hpp"

namespace csaud {

class RowPool {
  public:
    explicit RowPool(std::size_t row_bytes) : row_bytes_(row_bytes) {}

    // Zeros; kNone: all are in use.
    std::uint32_t take() {
        if (free_.empty() && !grow()) return kNone;
        const std::uint32_t i = free_.back();
        free_.pop_back();
        std::memset(at(i), 0, row_bytes_);
        return i;
    }
    void release(std::uint32_t i) { free_.push_back(i); }

    std::byte* at(std::uint32_t i) const noexcept {
        return slabs_[i / kSlab].get() + (i % kSlab) * row_bytes_;
    }
    std::size_t bytes() const noexcept { return slabs_.size() * kSlab * row_bytes_; }

  private:
    static constexpr std::size_t kSlab = 32;
    static constexpr std::size_t kMost = 2048;

    bool grow() {
        const std::size_t first = slabs_.size() * kSlab;
        if (first >= kMost) return false;
        slabs_.push_back(std::make_unique<std::byte[]>(kSlab * row_bytes_));
        free_.reserve(first + kSlab);
        for (std::size_t i = first + kSlab; i-- > first;) free_.push_back(static_cast<std::uint32_t>(i));
        return true;
    }

    std::size_t row_bytes_;
    std::vector<std::unique_ptr<std::byte[]>> slabs_;
    std::vector<std::uint32_t> free_;
};

}  // namespace csaud
