// Packets that are to enter ingress once more: resubmitted as they came, recirculated as they would have
// left.
#pragma once

#include <cstdint>
#include <vector>

#include "csaud_switch/fabric/port.hpp"
#include "csaud_switch/program/interpreter.hpp"

namespace csaud::sw {

class Passes {
  public:
    // Packets that go round for ever must not stop the others.
    static constexpr std::uint32_t kLimit = 1024;

    // As if it had just arrived, but for the fields of a list. False: it has gone round too often, or too
    // many wait to; it is still the caller's.
    bool resubmit(Packet* packet, std::uint32_t frame_start, const Interpreter& program);
    bool recirculate(Packet* packet, const Interpreter& program);

    bool any() const { return waiting_.count > 0; }
    Packet* next() { return waiting_.pop(); }

  private:
    static constexpr std::uint32_t kMaxWaiting = 1024;  // as on the reference

    bool restart(Packet* packet, std::uint32_t fields, std::uint32_t instance_type,
                 std::uint32_t ingress_length, const Interpreter& program);

    PacketQueue waiting_;
    std::vector<std::uint64_t> preserved_;  // words of a field list
};

}  // namespace csaud::sw
