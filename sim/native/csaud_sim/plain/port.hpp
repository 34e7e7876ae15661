// A port of a plain switch.
#pragma once

#include <array>
#include <cstdint>

#include "csaud_sim/network/link_figures.hpp"
#include "csaud_sim/plain/link.hpp"
#include "csaud_sim/plain/switch_model.hpp"

namespace csaud::sim::plain {

struct Port {
    // Strict priorities: the last one is served first.
    enum Priority : std::uint8_t { kData, kControl, kCut, kPriorities };

    std::uint16_t id = 0;
    Link* out = nullptr;  // what is sent leaves here
    Room room;
    std::array<Fault, kKinds> faults{};
    std::uint32_t exposed = 0;   // packets that a fault could have lost so far
    std::uint32_t markable = 0;  // packets that could have been marked so far

    std::array<Queue, kPriorities> queues;
    Nanos free_at = 0;
    bool wake_scheduled = false;
    bool paused = false;  // by the other end: DATA waits

    LinkFigures figures;

    std::uint64_t held = 0;  // bytes of DATA that came by it and are still here
    bool pausing = false;    // it told the other end to pause

    std::uint32_t count() const {
        return queues[kData].count() + queues[kControl].count() + queues[kCut].count();
    }
    std::uint64_t bytes() const {
        return queues[kData].bytes() + queues[kControl].bytes() + queues[kCut].bytes();
    }
};

}  // namespace csaud::sim::plain
