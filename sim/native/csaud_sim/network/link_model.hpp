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

    // Of a frame at a rate; 0: unlimited.
    Nanos sending_time(std::uint32_t bytes, std::uint64_t rate_bps) const {
        if (rate_bps == 0) return 0;
        const std::uint64_t bits = (std::uint64_t{bytes} + overhead_bytes) * 8;
        return static_cast<Nanos>((bits * 1'000'000'000U + rate_bps - 1) / rate_bps);
    }
};

}  // namespace csaud::sim
