// CRC-32 of IEEE 802.3, reflected, as zlib's crc32(): chainable, seed 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "csaud_host/base/crc32_fold.hpp"

namespace csaud {

std::uint32_t crc32(std::uint32_t seed, std::span<const std::byte> data) noexcept;
// The same of at least as many bytes as Ones has, with these: the best way here.
extern const MaskedCrc32 masked_crc32;

}  // namespace csaud
