// Reliable connections of RoCEv2 with go-back-N, over Ethernet that loses packets.
#pragma once

#include "csaud_sim/baselines/transports.hpp"

namespace csaud::sim::baselines {

TransportKind rc();
TransportKind dcqcn();  // with PFC

}  // namespace csaud::sim::baselines
