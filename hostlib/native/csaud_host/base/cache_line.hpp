// Lines of a processor's caches.
#pragma once

#include <cstddef>

namespace csaud {

inline constexpr std::size_t kCacheLine = 64;

// The bytes of the cache lines that hold so many.
constexpr std::size_t in_cache_lines(std::size_t bytes) {
    return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

}  // namespace csaud
