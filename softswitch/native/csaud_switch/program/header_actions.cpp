#include "csaud_switch/program/header_actions.hpp"

#include <algorithm>

#include "csaud_switch/program/packet_fields.hpp"

namespace csaud::sw {

void HeaderActions::execute(const Primitive& p, const Frame& frame, Packet& packet) const {
    const Layout& layout = logic_.layout;
    switch (p.op) {
        case PrimitiveOp::kAssignHeader:
            headers_.copy(p.index, p.other, packet);
            break;
        case PrimitiveOp::kAddHeader:
            headers_.add(p.index, packet);
            break;
        case PrimitiveOp::kRemoveHeader:
            headers_.remove(p.index, packet);
            break;
        case PrimitiveOp::kPush:
            headers_.push(layout.stacks[p.index], p.a.eval(frame), packet);
            break;
        case PrimitiveOp::kPop:
            headers_.pop(layout.stacks[p.index], p.a.eval(frame), packet);
            break;
        case PrimitiveOp::kAssignStack: {
            const HeaderStack& to = layout.stacks[p.index];
            const HeaderStack& from = layout.stacks[p.other];
            packet.slots[to.next_slot] = packet.slots[from.next_slot];
            for (std::size_t i = 0; i < to.headers.size(); ++i)
                headers_.copy(to.headers[i], from.headers[i], packet);
            break;
        }
        case PrimitiveOp::kAssignUnion: {
            const HeaderUnion& to = layout.unions[p.index];
            const HeaderUnion& from = layout.unions[p.other];
            for (std::size_t i = 0; i < to.headers.size(); ++i)
                headers_.copy(to.headers[i], from.headers[i], packet);
            break;
        }
        case PrimitiveOp::kAssignAmong:
            assign_among(p, frame, packet);
            break;
        case PrimitiveOp::kAddAmong:
        case PrimitiveOp::kRemoveAmong: {
            const std::uint64_t to = p.a.eval(frame);
            if (to >= p.to.size()) break;
            if (p.op == PrimitiveOp::kAddAmong)
                headers_.add(p.to[to], packet);
            else
                headers_.remove(p.to[to], packet);
            break;
        }
        case PrimitiveOp::kAssignElement:
            assign_element(p, frame, packet);
            break;
        case PrimitiveOp::kAssignVarbit:
            std::copy_n(&packet.slots[p.index], 2, &packet.slots[p.target.slot]);
            break;
        default:
            break;
    }
}

void HeaderActions::assign_element(const Primitive& p, const Frame& frame, Packet& packet) const {
    const HeaderStack& stack = logic_.layout.stacks[p.index];
    const std::uint64_t element = p.b.eval(frame);
    if (element >= stack.size) return;
    FieldRef target = p.target;  // in element 0
    target.slot += static_cast<std::uint32_t>(element) * stack.stride;
    target.header = stack.header(static_cast<std::uint32_t>(element), p.other);
    assign_wide(target, p.a.eval_wide(frame), packet);
}

void HeaderActions::assign_among(const Primitive& p, const Frame& frame, Packet& packet) const {
    const std::uint64_t to = p.a.eval(frame);
    const std::uint64_t from = p.b.eval(frame);
    if (to >= p.to.size()) return;
    if (from < p.from.size())
        headers_.copy(p.to[to], p.from[from], packet);
    else  // an element beyond the stack is not valid
        packet.slots[logic_.headers[p.to[to]].valid_slot] = 0;
}

}  // namespace csaud::sw
