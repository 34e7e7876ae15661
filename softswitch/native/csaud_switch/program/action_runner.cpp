#include "csaud_switch/program/action_runner.hpp"

#include <algorithm>

#include "csaud_switch/program/packet_fields.hpp"

namespace csaud::sw {

void ActionRunner::execute(const Action& action, const std::uint64_t* parameters, Packet& packet,
                           std::size_t from, std::size_t to) {
    const Frame frame = frame_of(packet, parameters);
    for (std::size_t at = from; at < to; ++at) {
        const Primitive& p = action.primitives[at];
        switch (p.op) {
            case PrimitiveOp::kAssignConstant:
                assign(p.target, p.mask, p.a.constant(), packet);
                break;
            case PrimitiveOp::kAssignSlot:
                assign(p.target, p.mask, packet.slots[p.a.slot()], packet);
                break;
            case PrimitiveOp::kAssign:
                assign(p.target, p.mask, p.a.eval(frame), packet);
                break;
            case PrimitiveOp::kHash: {
                const std::uint64_t size = std::max<std::uint64_t>(p.b.eval(frame), 1);
                const std::uint64_t hash = logic_.calculations[p.index].compute(packet);
                assign(p.target, p.mask, hash % size + p.a.eval(frame), packet);
                break;
            }
            case PrimitiveOp::kRegisterRead:
                read_register(p, frame, packet);
                break;
            case PrimitiveOp::kRegisterWrite:
                write_register(p, frame);
                break;
            case PrimitiveOp::kCount: {
                std::vector<Count>& cells = program_.counters[p.index].cells;
                const std::uint64_t cell = p.a.eval(frame);
                if (cell < cells.size()) cells[cell].add(packet.ingress_length);
                break;
            }
            case PrimitiveOp::kJump:
                at = p.a.eval(frame) - 1;  // the loop adds one
                break;
            case PrimitiveOp::kJumpIfZero:
                if (p.a.eval(frame) == 0) at = p.b.eval(frame) - 1;
                break;
            case PrimitiveOp::kExit:
                packet.exit = true;
                break;
            default:
                execute_rare(p, frame, packet);
        }
    }
}

inline void ActionRunner::read_register(const Primitive& p, const Frame& frame, Packet& packet) const {
    const RegisterArray& array = program_.registers[p.index];
    const std::uint64_t cell = p.a.eval(frame);
    if (cell >= array.size) return;  // the target's field keeps its value, as on the reference
    if (array.width <= 64 && p.target.width <= 64) {
        assign(p.target, p.mask, array.words[cell], packet);
        return;
    }
    const std::uint64_t* words = &array.words[cell * words_for(array.width)];
    const UWide high = array.width > 64 ? UWide{words[1]} << 64 : 0;
    assign_wide(p.target, static_cast<Wide>(high | words[0]), packet);
}

inline void ActionRunner::write_register(const Primitive& p, const Frame& frame) {
    RegisterArray& array = program_.registers[p.index];
    const std::uint64_t cell = p.a.eval(frame);
    if (cell >= array.size) return;
    if (array.width <= 64) {
        array.words[cell] = p.b.eval(frame) & mask64(array.width);
        return;
    }
    const auto value = static_cast<UWide>(p.b.eval_wide(frame)) & mask128(array.width);
    array.words[2 * cell] = static_cast<std::uint64_t>(value);
    array.words[2 * cell + 1] = static_cast<std::uint64_t>(value >> 64);
}

void ActionRunner::execute_rare(const Primitive& p, const Frame& frame, Packet& packet) {
    switch (p.op) {
        case PrimitiveOp::kAssignWide:
            assign_wide(p.target, p.a.eval_wide(frame), packet);
            break;
        case PrimitiveOp::kMarkToDrop:
            assign_wide(p.target, drop_port_, packet);
            std::fill_n(packet.slots.begin() + p.index, p.other, 0);
            break;
        case PrimitiveOp::kRandom:
            draw(p, frame, packet);
            break;
        case PrimitiveOp::kTruncate:
            packet.truncate_to =
                static_cast<std::uint32_t>(std::min<std::uint64_t>(p.a.eval(frame), packet.truncate_to));
            break;
        case PrimitiveOp::kAssert:
            if (p.a.eval(frame) != 0) break;
            packet.asserted = true;
            packet.exit = true;
            log_.add("assertion failed: " + p.message->text);
            break;
        case PrimitiveOp::kLog:
            log_.add(*p.message, frame);
            break;
        case PrimitiveOp::kClone:
            packet.clone_request = static_cast<std::uint32_t>(p.a.eval(frame) & 0x7FFF) + 1;
            packet.clone_fields = p.index;
            break;
        case PrimitiveOp::kResubmit:
            packet.resubmit = p.index + 1;
            break;
        case PrimitiveOp::kRecirculate:
            packet.recirculate = p.index + 1;
            break;
        case PrimitiveOp::kDigest:
            packet.digest = p.index + 1;
            break;
        case PrimitiveOp::kMeter: {
            MeterArray& meter = program_.meters[p.index];
            const std::uint64_t cell = p.a.eval(frame);
            if (cell >= meter.cells.size()) break;
            assign_wide(p.target, meter.cells[cell].execute(meter.bytes ? packet.ingress_length : 1, now_us_),
                        packet);
            break;
        }
        default:
            headers_.execute(p, frame, packet);
    }
}

// Any number from a to b, each as likely as the others.
void ActionRunner::draw(const Primitive& p, const Frame& frame, Packet& packet) {
    const std::uint64_t low = p.a.eval(frame);
    const std::uint64_t high = p.b.eval(frame);
    if (low > high) return;
    const std::uint64_t span = high - low;
    const std::uint64_t number = random_();
    const bool any = span == UINT64_MAX;
    assign(p.target, p.mask,
           any ? number : low + static_cast<std::uint64_t>((UWide{number} * (span + 1)) >> 64), packet);
}

}  // namespace csaud::sw
