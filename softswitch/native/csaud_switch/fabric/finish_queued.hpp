// Before another program takes the place of the present one: what is queued carries fields of the present
// program, so it goes through the present egress now. It keeps its place.
#pragma once

#include "csaud_switch/fabric/forwarding.hpp"

namespace csaud::sw {

void finish_queued(Forwarding& forwarding, const Ports& ports, Nanos now);

}  // namespace csaud::sw
