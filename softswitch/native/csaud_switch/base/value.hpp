// Machine words of the packet path.
//
// Fields of up to 64 bits live in one word; wider ones, up to 128 bits, in two (low word first). Arithmetic
// that may leave 64 bits is done in 128 bits.
#pragma once

#include <cstdint>

namespace csaud::sw {

__extension__ using Wide = __int128;
__extension__ using UWide = unsigned __int128;

using Nanos = std::int64_t;
using PortId = std::uint32_t;

inline constexpr Nanos kNever = INT64_MAX;
inline constexpr unsigned kMaxFieldBits = 128;

constexpr std::uint64_t mask64(unsigned width) {
    return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

constexpr UWide mask128(unsigned width) {
    return width >= 128 ? ~UWide{0} : (UWide{1} << width) - 1;
}

constexpr std::uint32_t words_for(unsigned width) {
    return width > 64 ? 2 : 1;
}

}  // namespace csaud::sw
