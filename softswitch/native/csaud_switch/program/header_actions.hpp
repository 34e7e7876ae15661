// Primitives of actions about whole headers, stacks and unions: which ones they mean for this packet.
#pragma once

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/program/action.hpp"
#include "csaud_switch/program/header_ops.hpp"
#include "csaud_switch/program/logic.hpp"

namespace csaud::sw {

class HeaderActions {
  public:
    explicit HeaderActions(const Logic& logic) : logic_(logic), headers_(logic) {}

    void execute(const Primitive& primitive, const Frame& frame, Packet& packet) const;

  private:
    void assign_element(const Primitive& primitive, const Frame& frame, Packet& packet) const;
    void assign_among(const Primitive& primitive, const Frame& frame, Packet& packet) const;

    const Logic& logic_;
    HeaderOps headers_;
};

}  // namespace csaud::sw
