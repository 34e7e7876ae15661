// Running numbers that wrap (RFC 1982 serial arithmetic), of any width up to 32 bits.
#pragma once

#include <cstdint>

namespace csaud {

class Serial {
  public:
    explicit constexpr Serial(unsigned bits) noexcept
        : mask_(bits >= 32 ? 0xFFFF'FFFFU : (1U << bits) - 1U), shift_(bits >= 32 ? 0 : 32 - bits) {}

    constexpr std::uint32_t wrap(std::uint64_t v) const noexcept {
        return static_cast<std::uint32_t>(v) & mask_;
    }

    // b - a on the shorter way round: positive where b is later.
    constexpr std::int32_t distance(std::uint32_t a, std::uint32_t b) const noexcept {
        return static_cast<std::int32_t>((b - a) << shift_) >> shift_;
    }

    constexpr bool at_or_before(std::uint32_t a, std::uint32_t b) const noexcept {
        return distance(a, b) >= 0;
    }
    constexpr std::uint32_t later(std::uint32_t a, std::uint32_t b) const noexcept {
        return static_cast<std::int32_t>((b - a) << shift_) > 0 ? b : a;
    }

    // So far a number may move at once that a few who missed it still see it move forward.
    constexpr std::uint32_t quarter() const noexcept { return (mask_ >> 2) + 1; }

  private:
    std::uint32_t mask_;
    unsigned shift_;
};

}  // namespace csaud
