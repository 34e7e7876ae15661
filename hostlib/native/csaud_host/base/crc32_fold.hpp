// CRC-32 by carry-less multiplication: each block of 16 bytes is folded onto a later one (Gopal et al., "Fast
// CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace csaud {

inline constexpr std::size_t kLeastFolded = 16;  // bytes

// As crc32(), of kLeastFolded bytes at least; without the inversions before and after.
using FoldCrc32 = std::uint32_t (*)(std::uint32_t seed, std::span<const std::byte> data) noexcept;

// The ways that this processor knows, the fastest one first.
std::vector<FoldCrc32> crc32_folders();

}  // namespace csaud
