// A copy to send again. Which detector found a loss first is what the books say of it.
#pragma once

#include <cstdint>

#include "csaud_host/base/pool.hpp"

namespace csaud {

enum class Detector : std::uint8_t { loss, gap, interval, probe };

struct Retransmission {
    Handle message;
    std::uint16_t pkt_idx = 0;
    Detector found_by = Detector::interval;
};

}  // namespace csaud
