// Time as the core knows it: a number that the caller passes in.
#pragma once

#include <cstdint>

namespace csaud {

// Nanoseconds of a monotonic clock that the caller owns. The core has no clock of its own.
using Nanos = std::int64_t;

inline constexpr Nanos kNever = INT64_MAX;
inline constexpr Nanos kMicrosecond = 1'000;
inline constexpr Nanos kMillisecond = 1'000'000;
inline constexpr Nanos kSecond = 1'000'000'000;

}  // namespace csaud
