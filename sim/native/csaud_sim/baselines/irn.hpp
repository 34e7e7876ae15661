// IRN (Mittal et al., SIGCOMM 2018): RoCE without lossless Ethernet.
#pragma once

#include "csaud_sim/baselines/transports.hpp"

namespace csaud::sim::baselines {

TransportKind irn();

}  // namespace csaud::sim::baselines
