// A packet's fields, as what runs a program reads and writes them.
#pragma once

#include <cstdint>
#include <optional>

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/base/value.hpp"
#include "csaud_switch/model/layout.hpp"
#include "csaud_switch/program/expression.hpp"

namespace csaud::sw {

// For expressions.
inline Frame frame_of(const Packet& packet, const std::uint64_t* parameters = nullptr) {
    return {packet.slots.data(), parameters, packet.buffer.get()};
}

// A field of one word; mask: of its width.
inline void assign(const FieldRef& target, std::uint64_t mask, std::uint64_t value, Packet& packet) {
    packet.slots[target.slot] = value & mask;
    packet.headers[target.header].dirty = true;
}

// A field of any width.
inline void assign_wide(const FieldRef& target, Wide value, Packet& packet) {
    const auto cut = static_cast<UWide>(value) & mask128(target.width);
    packet.slots[target.slot] = static_cast<std::uint64_t>(cut);
    if (target.width > 64) packet.slots[target.slot + 1] = static_cast<std::uint64_t>(cut >> 64);
    packet.headers[target.header].dirty = true;
}

// The target's fields, which a program may lack. They are metadata, so nothing has to be put back.
inline void set_field(Packet& packet, const std::optional<FieldRef>& field, std::uint64_t value) {
    if (field) packet.slots[field->slot] = value & mask64(field->width);
}
inline std::uint64_t get_field(const Packet& packet, const std::optional<FieldRef>& field) {
    return field ? packet.slots[field->slot] : 0;
}

}  // namespace csaud::sw
