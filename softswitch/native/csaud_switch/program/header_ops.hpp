// What programs do with whole headers: which are valid, copies, and stacks of headers and of unions. What the
// reference does with stacks is done here, quirks included: a push makes room with invalid elements, and the
// length that the target counts does not change.
#pragma once

#include <cstdint>

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/program/logic.hpp"

namespace csaud::sw {

class HeaderOps {
  public:
    explicit HeaderOps(const Logic& logic) : logic_(logic) {}

    // A member of a union makes the others invalid.
    static void mark_valid(const HeaderCode& header, Packet& packet) {
        packet.slots[header.valid_slot] = 1;
        for (const std::uint32_t sibling : header.siblings) packet.slots[sibling] = 0;
    }
    static std::uint32_t length(const HeaderCode& header, const Packet& packet) {
        return header.varbit ? header.bytes + static_cast<std::uint32_t>(packet.slots[header.varbit_slot] / 8)
                             : header.bytes;
    }
    void add(std::uint32_t header, Packet& packet) const;
    void remove(std::uint32_t header, Packet& packet) const;
    void copy(std::uint32_t to, std::uint32_t from, Packet& packet) const;

    void push(const HeaderStack& stack, std::uint64_t count, Packet& packet) const;
    void pop(const HeaderStack& stack, std::uint64_t count, Packet& packet) const;

  private:
    void swap_elements(const HeaderStack& stack, std::uint32_t a, std::uint32_t b, Packet& packet) const;
    void invalidate(const HeaderStack& stack, std::uint32_t element, Packet& packet) const;

    const Logic& logic_;
};

}  // namespace csaud::sw
