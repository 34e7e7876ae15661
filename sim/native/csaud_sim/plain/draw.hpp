// The P4 program's reproducible random numbers (p4src/v1model/random.p4): the n-th draw of a seed.
#pragma once

#include <cstdint>

namespace csaud::sim::plain {

constexpr std::uint32_t draw(std::uint32_t seed, std::uint32_t n) {
    std::uint32_t value = n * 0x9E3779B1U + seed;
    value = (value ^ (value >> 16)) * 0x85EBCA6BU;
    value = (value ^ (value >> 13)) * 0xC2B2AE35U;
    return value ^ (value >> 16);
}

}  // namespace csaud::sim::plain
