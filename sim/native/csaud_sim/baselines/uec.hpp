// An Ultra-Ethernet-like transport: NSCC's window, path policies, and switches that cut what has no room.
#pragma once

#include "csaud_sim/baselines/transports.hpp"

namespace csaud::sim::baselines {

TransportKind uec();

}  // namespace csaud::sim::baselines
