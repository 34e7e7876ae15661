// Copies to send again, first found first sent. Which detector found a loss first is what the books say of
// it.
#pragma once

#include <cstdint>

#include "pool.hpp"
#include "ring_queue.hpp"

namespace csaud {

enum class Detector : std::uint8_t { loss, gap, interval, probe };

struct Retransmission {
    Handle message;
    std::uint16_t pkt_idx = 0;
    Detector found_by = Detector::interval;
};

using RetransmitQueue = RingQueue<Retransmission>;

}  // namespace csaud
