// A program's checksums on one packet.
#pragma once

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/program/logic.hpp"

namespace csaud::sw {

class ChecksumOps {
  public:
    explicit ChecksumOps(const Logic& logic) : logic_(logic) {}

    // Whether all that the parser verifies are right.
    bool verify(const Packet& packet) const;
    // Those that the deparser sends.
    void update(Packet& packet) const;

  private:
    static bool holds(const Checksum& checksum, const Packet& packet);  // its condition

    const Logic& logic_;
};

}  // namespace csaud::sw
