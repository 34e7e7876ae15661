// CRC-32 by carry-less multiplication: each block of 16 bytes is folded onto a later one (Gopal et al., "Fast
// CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace csaud {

inline constexpr std::size_t kLeastFolded = 16;  // bytes

// Bits of the first bytes that count as ones.
struct Ones {
    alignas(16) std::array<std::byte, 48> bytes{};
};

// As crc32(), without the inversions before and after; `plain` of kLeastFolded bytes at least, `masked` of as
// many as are in Ones, and with these.
struct FoldCrc32 {
    std::uint32_t (*plain)(std::uint32_t seed, std::span<const std::byte> data) noexcept = nullptr;
    std::uint32_t (*masked)(std::uint32_t seed, std::span<const std::byte> data,
                            const Ones&) noexcept = nullptr;
};

// The ways that this processor knows, the fastest one first.
std::vector<FoldCrc32> crc32_folders();

}  // namespace csaud
