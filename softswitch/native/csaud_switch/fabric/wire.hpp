// What a switch needs of its surroundings.
#pragma once

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/fabric/port.hpp"

namespace csaud::sw {

class Switch;

class Wire {
  public:
    virtual ~Wire() = default;
    // A packet leaves by a port, its last bit at `end`. Takes the packet over.
    virtual void transmit(Switch& from, Port& port, Packet* packet, Nanos end) = 0;
    // serve(port) is to be called at this time.
    virtual void wake(Switch& from, Port& port, Nanos at) = 0;
    virtual void packet_in(Switch& from) = 0;
    // A packet ends here: the program dropped it, or its queue was full. Of who wants to know.
    virtual void dropped(const Packet&, Nanos) {}
    virtual PacketPool& pool() = 0;
};

}  // namespace csaud::sw
