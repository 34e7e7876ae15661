// CRC-32 of IEEE 802.3, reflected, as zlib's crc32(): chainable, seed 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace csaud {

std::uint32_t crc32(std::uint32_t seed, std::span<const std::byte> data) noexcept;

}  // namespace csaud
