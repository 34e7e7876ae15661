// What a switch is told when it is made.
#pragma once

#include <cstdint>
#include <string>

#include "csaud_switch/base/value.hpp"

namespace csaud::sw {

struct SwitchConfig {
    std::string name;
    std::uint64_t device_id = 0;
    PortId cpu_port = 510;
    PortId drop_port = 511;
    std::uint32_t priority_queues = 8;
    std::uint64_t seed = 0;
    bool machine_code = true;  // of programs, where it can be made; otherwise they are interpreted
};

}  // namespace csaud::sw
