// DCP-like transport: switches cut, receivers reflect headers, senders repeat what they name.
#pragma once

#include "csaud_sim/baselines/transports.hpp"

namespace csaud::sim::baselines {

TransportKind dcp();

}  // namespace csaud::sim::baselines
