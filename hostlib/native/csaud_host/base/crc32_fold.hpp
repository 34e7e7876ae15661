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

// As crc32(), without the inversions before and after; of kLeastFolded bytes at least.
using PlainCrc32 = std::uint32_t (*)(std::uint32_t seed, std::span<const std::byte> data) noexcept;
// As crc32(), of as many bytes at least as Ones has, with these.
using MaskedCrc32 = std::uint32_t (*)(std::uint32_t seed, std::span<const std::byte> data,
                                      const Ones&) noexcept;

struct FoldCrc32 {
    PlainCrc32 plain = nullptr;
    MaskedCrc32 masked = nullptr;
};

// The ways that this processor knows, the fastest one first.
std::vector<FoldCrc32> crc32_folders();

}  // namespace csaud
