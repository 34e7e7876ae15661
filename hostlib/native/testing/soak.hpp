// A seeded run of random messages over a random network: everything must arrive exactly, and the books must
// balance.
#pragma once

#include <cstdint>
#include <string>

#include "csaud_host/contract/stats.hpp"

namespace csaud::testing {

struct SoakResult {
    std::string failure;        // empty: all held
    std::uint64_t packets = 0;  // sent by all ranks
    std::int64_t virtual_ns = 0;
    Stats totals;  // over all ranks
};

SoakResult soak(std::uint64_t seed);

}  // namespace csaud::testing
