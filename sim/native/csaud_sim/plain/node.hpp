// What is at the end of a link of a plain network: a switch or a host.
#pragma once

#include <cstdint>

#include "csaud_sim/plain/packet.hpp"

namespace csaud::sim::plain {

class Node {
  public:
    // A packet has arrived by a port, with its last bit (at a switch, a pipeline later). Takes it over.
    virtual void arrive(Packet* packet, std::uint16_t port, Nanos now) = 0;
    // The other end of the port's link wants no DATA for the time being, or again (PFC).
    virtual void paused(std::uint16_t port, bool paused, Nanos now) = 0;

  protected:
    ~Node() = default;
};

}  // namespace csaud::sim::plain
