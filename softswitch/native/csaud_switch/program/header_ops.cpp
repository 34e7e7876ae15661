#include "csaud_switch/program/header_ops.hpp"

#include <algorithm>
#include <utility>

namespace csaud::sw {

void HeaderOps::add(std::uint32_t index, Packet& packet) const {
    const HeaderCode& header = logic_.headers[index];
    if (packet.slots[header.valid_slot] != 0) return;
    std::fill_n(packet.slots.begin() + header.first_slot, header.slot_count, 0);
    mark_valid(header, packet);
    packet.headers[index] = {kNoBytes, true};
    packet.program_length += header.bytes;
}

void HeaderOps::remove(std::uint32_t index, Packet& packet) const {
    const HeaderCode& header = logic_.headers[index];
    if (packet.slots[header.valid_slot] != 0) packet.program_length -= length(header, packet);
    packet.slots[header.valid_slot] = 0;
}

void HeaderOps::copy(std::uint32_t to, std::uint32_t from, Packet& packet) const {
    const HeaderCode& target = logic_.headers[to];
    const HeaderCode& source = logic_.headers[from];
    if (packet.slots[source.valid_slot] == 0) {
        packet.slots[target.valid_slot] = 0;
        return;
    }
    mark_valid(target, packet);
    std::copy_n(packet.slots.begin() + source.first_slot, source.slot_count,
                packet.slots.begin() + target.first_slot);
    // Every field of a header that is copied is among those written, but for those too wide for words.
    packet.headers[to] = {packet.headers[from].bytes_at, true};
}

void HeaderOps::swap_elements(const HeaderStack& stack, std::uint32_t a, std::uint32_t b,
                              Packet& packet) const {
    for (std::uint32_t member = 0; member < stack.members; ++member) {
        const std::uint32_t left = stack.header(a, member);
        const std::uint32_t right = stack.header(b, member);
        const HeaderCode& one = logic_.headers[left];
        const HeaderCode& other = logic_.headers[right];
        std::swap(packet.slots[one.valid_slot], packet.slots[other.valid_slot]);
        std::swap_ranges(packet.slots.begin() + one.first_slot,
                         packet.slots.begin() + one.first_slot + one.slot_count,
                         packet.slots.begin() + other.first_slot);
        std::swap(packet.headers[left], packet.headers[right]);
    }
}

void HeaderOps::invalidate(const HeaderStack& stack, std::uint32_t element, Packet& packet) const {
    // On the reference a union of a stack keeps its valid header when the union is to become invalid.
    if (stack.of_unions) return;
    packet.slots[logic_.headers[stack.header(element, 0)].valid_slot] = 0;
}

void HeaderOps::push(const HeaderStack& stack, std::uint64_t count, Packet& packet) const {
    if (count == 0) return;
    const auto by = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, stack.size));
    packet.slots[stack.next_slot] = std::min<std::uint64_t>(stack.size, packet.slots[stack.next_slot] + by);
    for (std::uint32_t i = stack.size; i-- > by;) swap_elements(stack, i, i - by, packet);
    for (std::uint32_t i = 0; i < by; ++i) invalidate(stack, i, packet);
}

void HeaderOps::pop(const HeaderStack& stack, std::uint64_t count, Packet& packet) const {
    if (count == 0) return;
    const auto by = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, stack.size));
    packet.slots[stack.next_slot] -= std::min<std::uint64_t>(packet.slots[stack.next_slot], by);
    for (std::uint32_t i = 0; i + by < stack.size; ++i) swap_elements(stack, i, i + by, packet);
    for (std::uint32_t i = stack.size - by; i < stack.size; ++i) invalidate(stack, i, packet);
}

}  // namespace csaud::sw
