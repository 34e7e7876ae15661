// Fields of any width at any bit offset of a packet.
//
// All functions touch whole 8-byte groups around the field, so buffers need kSlack readable bytes after their
// end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "csaud_switch/base/value.hpp"

namespace csaud::sw {

inline constexpr std::size_t kSlack = 24;

inline std::uint64_t load_be64(const std::uint8_t* p) {
    std::uint64_t v;
    std::memcpy(&v, p, sizeof v);
    return __builtin_bswap64(v);
}

inline void store_be64(std::uint8_t* p, std::uint64_t v) {
    v = __builtin_bswap64(v);
    std::memcpy(p, &v, sizeof v);
}

// width: 1 to 64
inline std::uint64_t extract_bits(const std::uint8_t* base, std::uint32_t bit_offset, unsigned width) {
    const std::uint8_t* p = base + (bit_offset >> 3);
    const unsigned shift = bit_offset & 7;
    if (shift + width <= 64) return (load_be64(p) << shift) >> (64 - width);
    const unsigned below = shift + width - 64;  // bits in the ninth byte, 1 to 7
    const std::uint64_t high = load_be64(p) << shift >> (64 - width);
    return high | static_cast<std::uint64_t>(p[8] >> (8 - below));
}

inline void deposit_bits(std::uint8_t* base, std::uint32_t bit_offset, unsigned width, std::uint64_t value) {
    std::uint8_t* p = base + (bit_offset >> 3);
    const unsigned shift = bit_offset & 7;
    value &= mask64(width);
    if (shift + width <= 64) {
        const unsigned up = 64 - shift - width;
        const std::uint64_t mask = mask64(width) << up;
        store_be64(p, (load_be64(p) & ~mask) | (value << up));
        return;
    }
    const unsigned below = shift + width - 64;
    const std::uint64_t mask = mask64(width) >> below;
    store_be64(p, (load_be64(p) & ~mask) | (value >> below));
    p[8] = static_cast<std::uint8_t>((p[8] & mask64(8 - below)) | (value << (8 - below)));
}

// A field of 1 to 128 bits as one or two words, low word first.
inline void extract_words(const std::uint8_t* base, std::uint32_t bit_offset, unsigned width,
                          std::uint64_t* words) {
    if (width <= 64) {
        words[0] = extract_bits(base, bit_offset, width);
        return;
    }
    words[1] = extract_bits(base, bit_offset, width - 64);
    words[0] = extract_bits(base, bit_offset + width - 64, 64);
}

inline void deposit_words(std::uint8_t* base, std::uint32_t bit_offset, unsigned width,
                          const std::uint64_t* words) {
    if (width <= 64) {
        deposit_bits(base, bit_offset, width, words[0]);
        return;
    }
    deposit_bits(base, bit_offset, width - 64, words[1]);
    deposit_bits(base, bit_offset + width - 64, 64, words[0]);
}

}  // namespace csaud::sw
