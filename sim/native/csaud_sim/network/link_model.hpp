// What a link and a switch cost beyond the bytes of a frame.
#pragma once

#include <cstdint>

#include "csaud_sim/engine/engine.hpp"

namespace csaud::sim {

struct LinkModel {
    // Of each frame on each link: preamble with start delimiter (8), FCS (4), gap between frames (12).
    std::uint32_t overhead_bytes = 24;
    // From a frame's last bit at a switch until it can be queued for a port.
    Nanos pipeline = 0;
};

}  // namespace csaud::sim
