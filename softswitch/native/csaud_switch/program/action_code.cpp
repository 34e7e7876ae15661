#include "csaud_switch/program/action_code.hpp"

#include <algorithm>
#include <bit>

namespace csaud::sw {

namespace {

using Alu = Assembler::Alu;
using Label = Assembler::Label;

// Packet is not of standard layout for the letter of C++; with this compiler its members lie as in one.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
constexpr std::size_t kExitAt = offsetof(Packet, exit);
constexpr std::size_t kLengthAt = offsetof(Packet, ingress_length);
#pragma GCC diagnostic pop

// The first word of an action is an index, or nothing; bytes to be hashed lie where temporaries otherwise do.
constexpr std::uint32_t kFirst = 1;
constexpr std::uint32_t kHashedBytes = 64;  // at most

bool is_power_of_two(std::uint64_t value) {
    return std::has_single_bit(value);
}

}  // namespace

bool ActionCode::is_plain(const Action& action) {
    return std::all_of(action.primitives.begin(), action.primitives.end(), [](const Primitive& p) {
        if (p.op == PrimitiveOp::kJump) return p.a.is_constant();
        if (p.op == PrimitiveOp::kJumpIfZero) return p.b.is_constant();
        return true;
    });
}

bool ActionCode::may_exit(const Action& action) {
    return std::any_of(action.primitives.begin(), action.primitives.end(), [](const Primitive& p) {
        return p.op == PrimitiveOp::kExit || p.op == PrimitiveOp::kAssert;
    });
}

std::uint32_t ActionCode::words_of(const Action& action) const {
    std::uint32_t words = 0;
    for (const Primitive& p : action.primitives) {
        words = std::max({words, ExpressionCode::words(p.a), ExpressionCode::words(p.b)});
        if (p.op == PrimitiveOp::kHash && has_code(p)) words = std::max(words, kHashedBytes / 8 + 1);
    }
    return kFirst + words;
}

void ActionCode::write(const Action& action) {
    std::vector<Label> places;
    for (std::size_t i = 0; i <= action.primitives.size(); ++i) places.push_back(out_.label());
    for (std::size_t i = 0; i < action.primitives.size(); ++i) {
        out_.place(places[i]);
        primitive(action, i, places);
    }
    out_.place(places.back());
}

void ActionCode::jump_if_exit(Label to) {
    out_.jump_if_exit(kExitAt, to);
}

void ActionCode::value(const Expression& expression, std::uint32_t first_word) {
    if (!ExpressionCode(out_, first_word).write(expression))
        out_.call(std::bit_cast<const void*>(hooks_.eval), &expression, 0);
}

void ActionCode::jump_unless(const Expression& expression, Label elsewhere) {
    if (ExpressionCode::can_write(expression)) {
        ExpressionCode(out_, kFirst).jump_unless(expression, elsewhere);
        return;
    }
    value(expression, kFirst);
    out_.test();
    out_.jump_if(Assembler::If::kEqual, elsewhere);
}

void ActionCode::assign(const Primitive& p) {
    out_.alu_constant(Alu::kAnd, p.mask);
    out_.store(Assembler::slot(p.target.slot));
    mark_dirty(p);
}

void ActionCode::mark_dirty(const Primitive& p) {
    // Nothing is made of a metadata header when the packet leaves.
    if (!logic_.layout.headers[p.target.header].metadata)
        out_.mark_dirty(
            static_cast<std::uint32_t>(p.target.header * sizeof(HeaderState) + offsetof(HeaderState, dirty)));
}

// Whole bytes that are always there, into a range that is a power of two.
bool ActionCode::has_code(const Primitive& p) const {
    const Calculation& calculation = logic_.calculations[p.index];
    return !calculation.payload && calculation.bits <= 8 * kHashedBytes && p.a.is_constant() &&
           p.b.is_constant() && is_power_of_two(std::max<std::uint64_t>(p.b.constant(), 1)) &&
           std::all_of(calculation.inputs.begin(), calculation.inputs.end(),
                       [](const CalculationInput& input) {
                           return input.width % 8 == 0 && input.width <= 64 &&
                                  (input.kind == CalculationInput::Kind::kConstant ||
                                   (input.kind == CalculationInput::Kind::kField && input.always));
                       });
}

void ActionCode::hash(const Primitive& p) {
    const Calculation& calculation = logic_.calculations[p.index];
    std::size_t at = 8 * kFirst;
    for (const CalculationInput& input : calculation.inputs) {
        if (input.kind == CalculationInput::Kind::kConstant) {
            out_.load_constant(input.value[0]);
        } else {
            out_.load(Assembler::slot(input.slot));
        }
        out_.put_bytes(at, input.width / 8);
        at += input.width / 8;
    }
    out_.call_on_stack(std::bit_cast<const void*>(hooks_.hash),
                       static_cast<std::uint64_t>(calculation.algorithm), 8 * kFirst, at - 8 * kFirst);
    out_.alu_constant(Alu::kAnd, std::max<std::uint64_t>(p.b.constant(), 1) - 1);
    if (p.a.constant() != 0) out_.alu_constant(Alu::kAdd, p.a.constant());
    assign(p);
}

void ActionCode::primitive(const Action& action, std::size_t at, const std::vector<Label>& places) {
    const Primitive& p = action.primitives[at];
    const auto place = [&](const Expression& to) {
        return places[std::min<std::uint64_t>(to.constant(), places.size() - 1)];
    };
    switch (p.op) {
        case PrimitiveOp::kAssignConstant:
            out_.store_constant(Assembler::slot(p.target.slot), p.a.constant() & p.mask);
            mark_dirty(p);
            return;
        case PrimitiveOp::kAssignSlot:
            out_.load(Assembler::slot(p.a.slot()));
            assign(p);
            return;
        case PrimitiveOp::kAssign:
            value(p.a, 1);
            assign(p);
            return;
        case PrimitiveOp::kRegisterRead: {
            const RegisterArray& array = program_.registers[p.index];
            if (array.width > 64 || p.target.width > 64) break;
            value(p.a, 1);
            out_.jump_unless_below(array.size, places[at + 1]);
            out_.load_element(Places::of_register(p.index));
            assign(p);
            return;
        }
        case PrimitiveOp::kRegisterWrite: {
            const RegisterArray& array = program_.registers[p.index];
            if (array.width > 64) break;
            value(p.a, 1);
            out_.jump_unless_below(array.size, places[at + 1]);
            out_.store({Assembler::Base::kStack, 0});
            value(p.b, 1);
            out_.alu_constant(Alu::kAnd, mask64(array.width));
            out_.store_element(Places::of_register(p.index), {Assembler::Base::kStack, 0});
            return;
        }
        case PrimitiveOp::kCount: {
            const CounterArray& counter = program_.counters[p.index];
            value(p.a, 1);
            out_.jump_unless_below(counter.cells.size(), places[at + 1]);
            out_.count_element(places_.of_counter(p.index), kLengthAt);
            return;
        }
        case PrimitiveOp::kJump:
            out_.jump(place(p.a));
            return;
        case PrimitiveOp::kJumpIfZero:
            jump_unless(p.a, place(p.b));
            return;
        case PrimitiveOp::kHash:
            if (!has_code(p)) break;
            hash(p);
            return;
        case PrimitiveOp::kExit:
            out_.set_exit(kExitAt);
            return;
        case PrimitiveOp::kNothing:
            return;
        default:
            break;
    }
    out_.call(std::bit_cast<const void*>(hooks_.execute), &action, at);
}

}  // namespace csaud::sw
