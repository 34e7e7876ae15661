// What one end of a link has sent.
#pragma once

#include <cstdint>

#include "csaud_sim/engine/engine.hpp"
#include "csaud_sim/network/histogram.hpp"

namespace csaud::sim {

struct LinkFigures {
    std::uint64_t frames = 0, bytes = 0;
    std::uint64_t data = 0;  // frames that are DATA
    Nanos busy = 0;
    Histogram waits;  // of DATA in its queue, ns
};

}  // namespace csaud::sim
