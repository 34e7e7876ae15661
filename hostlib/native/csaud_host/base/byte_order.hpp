// Big-endian integers in byte buffers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace csaud {

inline void put8(std::byte* p, unsigned v) noexcept {
    *p = static_cast<std::byte>(v);
}
inline void put16(std::byte* p, unsigned v) noexcept {
    put8(p, v >> 8);
    put8(p + 1, v);
}
inline void put24(std::byte* p, std::uint32_t v) noexcept {
    put8(p, v >> 16);
    put16(p + 1, v);
}
inline void put32(std::byte* p, std::uint32_t v) noexcept {
    put16(p, v >> 16);
    put16(p + 2, v);
}
inline std::uint8_t get8(const std::byte* p) noexcept {
    return std::to_integer<std::uint8_t>(*p);
}
inline std::uint16_t get16(const std::byte* p) noexcept {
    return static_cast<std::uint16_t>((get8(p) << 8) | get8(p + 1));
}
inline std::uint32_t get24(const std::byte* p) noexcept {
    return (std::uint32_t{get8(p)} << 16) | get16(p + 1);
}
inline std::uint32_t get32(const std::byte* p) noexcept {
    return (std::uint32_t{get16(p)} << 16) | get16(p + 2);
}
inline std::uint64_t get64(const std::byte* p) noexcept {
    return (std::uint64_t{get32(p)} << 32) | get32(p + 4);
}
// A little-endian one.
inline std::uint32_t get32le(const std::byte* p) noexcept {
    return get8(p) | (std::uint32_t{get8(p + 1)} << 8) | (std::uint32_t{get8(p + 2)} << 16) |
           (std::uint32_t{get8(p + 3)} << 24);
}

}  // namespace csaud
