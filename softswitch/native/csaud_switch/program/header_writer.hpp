// The deparser: a packet's valid headers in front of its payload, in place where they still lie there.
#pragma once

#include <cstdint>

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/program/logic.hpp"

namespace csaud::sw {

class HeaderWriter {
  public:
    explicit HeaderWriter(const Logic& logic) : logic_(logic) {}

    // Checksums are up to date. Moves the packet's start before its headers.
    void write(Packet& packet) const;

  private:
    void deposit(std::uint32_t header, const Packet& packet, std::uint8_t* to) const;
    std::uint8_t* deposit_varbit(const HeaderCode& header, const Packet& packet, std::uint8_t* out) const;
    void put_together(Packet& packet, std::uint32_t first) const;

    const Logic& logic_;
};

}  // namespace csaud::sw
