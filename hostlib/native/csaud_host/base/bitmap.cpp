#include "csaud_host/base/bitmap.hpp"

namespace csaud {

namespace {
// The wire counts bits from the most significant one of each byte, words here from the least significant.
constexpr std::uint8_t reversed(std::uint8_t b) noexcept {
    b = static_cast<std::uint8_t>((b & 0xF0) >> 4 | (b & 0x0F) << 4);
    b = static_cast<std::uint8_t>((b & 0xCC) >> 2 | (b & 0x33) << 2);
    return static_cast<std::uint8_t>((b & 0xAA) >> 1 | (b & 0x55) << 1);
}
}  // namespace

void Bitmap::write(std::span<std::byte> out, std::size_t bits) const noexcept {
    for (std::size_t i = 0; i < wire_bytes(bits); ++i) {
        const auto byte = static_cast<std::uint8_t>(words_[i / 8] >> (8 * (i % 8)));
        out[i] = static_cast<std::byte>(reversed(byte));
    }
}

std::size_t Bitmap::merge(std::span<const std::byte> in, std::size_t bits) noexcept {
    std::size_t fresh = 0;
    for (std::size_t i = 0; i < wire_bytes(bits); ++i) {
        std::uint64_t byte = reversed(std::to_integer<std::uint8_t>(in[i]));
        if (bits - 8 * i < 8) byte &= (1U << (bits % 8)) - 1U;  // what lies beyond the message is no packet
        const std::uint64_t add = (byte << (8 * (i % 8))) & ~words_[i / 8];
        fresh += static_cast<std::size_t>(std::popcount(add));
        words_[i / 8] |= add;
    }
    return fresh;
}

}  // namespace csaud
