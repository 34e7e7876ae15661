// Stacks of headers and of unions. What the reference does with them is done here, quirks included: a push
// makes room with invalid elements, and the length that the target counts does not change.
#include <algorithm>

#include "csaud_switch/program/interpreter.hpp"

namespace csaud::sw {

void Interpreter::swap_elements(const HeaderStack& stack, std::uint32_t a, std::uint32_t b,
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

void Interpreter::invalidate(const HeaderStack& stack, std::uint32_t element, Packet& packet) const {
    // On the reference a union of a stack keeps its valid header when the union is to become invalid.
    if (stack.of_unions) return;
    packet.slots[logic_.headers[stack.header(element, 0)].valid_slot] = 0;
}

void Interpreter::push(const HeaderStack& stack, std::uint64_t count, Packet& packet) const {
    if (count == 0) return;
    const auto by = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, stack.size));
    packet.slots[stack.next_slot] = std::min<std::uint64_t>(stack.size, packet.slots[stack.next_slot] + by);
    for (std::uint32_t i = stack.size; i-- > by;) swap_elements(stack, i, i - by, packet);
    for (std::uint32_t i = 0; i < by; ++i) invalidate(stack, i, packet);
}

void Interpreter::pop(const HeaderStack& stack, std::uint64_t count, Packet& packet) const {
    if (count == 0) return;
    const auto by = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, stack.size));
    packet.slots[stack.next_slot] -= std::min<std::uint64_t>(packet.slots[stack.next_slot], by);
    for (std::uint32_t i = 0; i + by < stack.size; ++i) swap_elements(stack, i, i + by, packet);
    for (std::uint32_t i = stack.size - by; i < stack.size; ++i) invalidate(stack, i, packet);
}

void Interpreter::assign_element(const Primitive& p, const Frame& frame, Packet& packet) const {
    const HeaderStack& stack = logic_.layout.stacks[p.index];
    const std::uint64_t element = p.b.eval(frame);
    if (element >= stack.size) return;
    FieldRef target = p.target;  // in element 0
    target.slot += static_cast<std::uint32_t>(element) * stack.stride;
    target.header = stack.header(static_cast<std::uint32_t>(element), p.other);
    assign_wide(target, p.a.eval_wide(frame), packet);
}

void Interpreter::execute_stack(const Primitive& p, const Frame& frame, Packet& packet) {
    const Layout& layout = logic_.layout;
    switch (p.op) {
        case PrimitiveOp::kPush:
            push(layout.stacks[p.index], p.a.eval(frame), packet);
            break;
        case PrimitiveOp::kPop:
            pop(layout.stacks[p.index], p.a.eval(frame), packet);
            break;
        case PrimitiveOp::kAssignStack: {
            const HeaderStack& to = layout.stacks[p.index];
            const HeaderStack& from = layout.stacks[p.other];
            packet.slots[to.next_slot] = packet.slots[from.next_slot];
            for (std::size_t i = 0; i < to.headers.size(); ++i)
                copy_header(to.headers[i], from.headers[i], packet);
            break;
        }
        case PrimitiveOp::kAssignUnion: {
            const HeaderUnion& to = layout.unions[p.index];
            const HeaderUnion& from = layout.unions[p.other];
            for (std::size_t i = 0; i < to.headers.size(); ++i)
                copy_header(to.headers[i], from.headers[i], packet);
            break;
        }
        case PrimitiveOp::kAssignAmong: {
            const std::uint64_t to = p.a.eval(frame);
            const std::uint64_t from = p.b.eval(frame);
            if (to >= p.to.size()) break;
            if (from < p.from.size())
                copy_header(p.to[to], p.from[from], packet);
            else  // an element beyond the stack is not valid
                packet.slots[logic_.headers[p.to[to]].valid_slot] = 0;
            break;
        }
        case PrimitiveOp::kAddAmong:
        case PrimitiveOp::kRemoveAmong: {
            const std::uint64_t to = p.a.eval(frame);
            if (to >= p.to.size()) break;
            if (p.op == PrimitiveOp::kAddAmong)
                add_header(p.to[to], packet);
            else
                remove_header(p.to[to], packet);
            break;
        }
        case PrimitiveOp::kAssignElement:
            assign_element(p, frame, packet);
            break;
        case PrimitiveOp::kAssignVarbit: {
            std::copy_n(&packet.slots[p.index], 2, &packet.slots[p.target.slot]);
            break;
        }
        default:
            break;
    }
}

}  // namespace csaud::sw
