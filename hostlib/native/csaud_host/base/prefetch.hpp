// Lines of a processor's caches, fetched before they are needed.
#pragma once

#include <cstddef>

#include "csaud_host/base/cache_line.hpp"

namespace csaud {

inline void prefetch(const void* at) noexcept {
    __builtin_prefetch(at);
    asm volatile(
        "");  // g++ takes a function that does nothing else for one without effect, and leaves it out
}

// All lines that `bytes` from `at` on lie in.
inline void prefetch(const void* at, std::size_t bytes) noexcept {
    const auto* const first = static_cast<const std::byte*>(at);
    for (std::size_t i = 0; i < bytes; i += kCacheLine) prefetch(first + i);
    prefetch(first + bytes - 1);
}

}  // namespace csaud
