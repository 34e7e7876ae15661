// Who is attached to a memory port of a switch.
#pragma once

#include "csaud_sim/engine/engine.hpp"
#include "csaud_switch/base/packet.hpp"

namespace csaud::sim {

class Station {
  public:
    // A frame has arrived, with its last bit. Takes the packet over.
    virtual void frame(sw::Packet* packet, Nanos now) = 0;

  protected:
    ~Station() = default;
};

}  // namespace csaud::sim
