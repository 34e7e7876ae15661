// NDP-style transport: switches cut what has no room, receivers pull.
#pragma once

#include "csaud_sim/baselines/transports.hpp"

namespace csaud::sim::baselines {

TransportKind ndp();

}  // namespace csaud::sim::baselines
