#include "csaud_switch/program/expression_code.hpp"

#include <utility>

namespace csaud::sw {

namespace {

using Alu = Assembler::Alu;
using If = Assembler::If;

bool commutes(Op op) {
    switch (op) {
        case Op::kAdd:
        case Op::kMul:
        case Op::kAnd:
        case Op::kOr:
        case Op::kXor:
        case Op::kEq:
        case Op::kNe:
        case Op::kBoth:
        case Op::kEither:
            return true;
        default:
            return false;
    }
}

// These take their second operand as a constant.
bool wants_constant(Op op) {
    return op == Op::kShl || op == Op::kShr || op == Op::kShrU || op == Op::kTwoComp || op == Op::kSigned ||
           op == Op::kUSat;
}

bool has_code(const Instruction& instruction) {
    switch (instruction.op) {
        case Op::kDiv:
        case Op::kMod:
        case Op::kSat:
        case Op::kWide:
        case Op::kLoad:
        case Op::kLoadWide:
        case Op::kSameBits:
            return false;
        default:
            return !wants_constant(instruction.op) || instruction.b.source == Source::kConstant;
    }
}

// Temporaries that are read by nothing but the first operand of the next instruction stay in rax.
std::vector<bool> kept(const Expression::Code& code) {
    std::vector<bool> needed(code.instructions.size(), false);
    const auto use = [&](const Operand& operand, std::size_t at, bool first) {
        if (operand.source == Source::kTemporary && !(first && operand.index + 1 == at))
            needed[operand.index] = true;
    };
    for (std::size_t at = 0; at < code.instructions.size(); ++at) {
        const Instruction& instruction = code.instructions[at];
        use(instruction.a, at, true);
        use(instruction.b, at, false);
        if (instruction.op == Op::kSelect) use(instruction.c, at, false);
    }
    return needed;
}

}  // namespace

bool ExpressionCode::can_write(const Expression& expression) {
    if (expression.is_constant()) return true;
    const Expression::Code* code = expression.narrow_code();
    if (code == nullptr) return false;
    for (const Instruction& instruction : code->instructions)
        if (!has_code(instruction)) return false;
    return true;
}

std::uint32_t ExpressionCode::words(const Expression& expression) {
    const Expression::Code* code = expression.narrow_code();
    return kScratch + (code == nullptr ? 0 : static_cast<std::uint32_t>(code->instructions.size()));
}

bool ExpressionCode::write(const Expression& expression) {
    if (!can_write(expression)) return false;
    if (expression.is_constant()) {
        out_.load_constant(expression.constant());
        return true;
    }
    code_ = expression.narrow_code();
    held_ = UINT32_MAX;
    Expression::Code ordered = *code_;
    // The temporary that was made last should come first.
    for (std::size_t at = 1; at < ordered.instructions.size(); ++at) {
        Instruction& instruction = ordered.instructions[at];
        const bool last_is_second =
            instruction.b.source == Source::kTemporary && instruction.b.index + 1 == at;
        if (last_is_second && commutes(instruction.op)) std::swap(instruction.a, instruction.b);
    }
    code_ = &ordered;
    const std::vector<bool> needed = kept(ordered);
    for (std::uint32_t at = 0; at < ordered.instructions.size(); ++at) {
        step(ordered.instructions[at], at);
        held_ = at;
        const bool is_result = ordered.result.source == Source::kTemporary && ordered.result.index == at;
        const bool is_last = at + 1 == ordered.instructions.size();
        if (needed[at] || (is_result && !is_last))
            out_.store({Assembler::Base::kStack, first_ + kScratch + at});
    }
    load(ordered.result);
    code_ = nullptr;
    return true;
}

bool ExpressionCode::is_held(const Operand& operand) const {
    return operand.source == Source::kTemporary && operand.index == held_;
}

void ExpressionCode::load(const Operand& operand) {
    if (is_held(operand)) return;
    if (operand.source == Source::kConstant) {
        out_.load_constant(constant(operand));
    } else {
        out_.load(word(operand, 0));
    }
}

// Where an operand lies; a constant is put into a word of its own first, which spoils rax.
ExpressionCode::Word ExpressionCode::word(const Operand& operand, std::uint32_t scratch) {
    switch (operand.source) {
        case Source::kSlot:
            return {Assembler::Base::kSlots, operand.index};
        case Source::kParameter:
            return {Assembler::Base::kParameters, operand.index};
        case Source::kTemporary:
            return {Assembler::Base::kStack, first_ + kScratch + operand.index};
        case Source::kConstant:
            break;
    }
    const Word place{Assembler::Base::kStack, first_ + scratch};
    out_.store_constant(place, constant(operand));
    return place;
}

void ExpressionCode::alu(Alu op, const Operand& b) {
    if (b.source == Source::kConstant) {
        out_.alu_constant(op, constant(b));
    } else {
        out_.alu(op, word(b, 0));
    }
}

void ExpressionCode::compare(const Operand& b, If condition) {
    alu(Alu::kCmp, b);
    out_.flag(condition);
}

void ExpressionCode::step(const Instruction& instruction, std::uint32_t) {
    const Operand& b = instruction.b;
    if (instruction.op == Op::kSelect || instruction.op == Op::kBoth) {
        // Constants first: putting them into words spoils rax, which may hold the first operand.
        const bool spoils = b.source == Source::kConstant ||
                            (instruction.op == Op::kSelect && instruction.c.source == Source::kConstant);
        if (spoils && is_held(instruction.a)) {
            out_.store({Assembler::Base::kStack, first_ + kScratch + held_});
            held_ = UINT32_MAX;
        }
        const Word second = word(b, 0);
        if (instruction.op == Op::kBoth) {
            load(instruction.a);
            out_.both(second);
            return;
        }
        const Word third = word(instruction.c, 1);
        load(instruction.a);
        out_.select(second, third);
        return;
    }
    load(instruction.a);
    const unsigned bits =
        wants_constant(instruction.op) && constant(b) < 64 ? static_cast<unsigned>(constant(b)) : 64;
    switch (instruction.op) {
        case Op::kAdd:
            return alu(Alu::kAdd, b);
        case Op::kSub:
            return alu(Alu::kSub, b);
        case Op::kAnd:
            return alu(Alu::kAnd, b);
        case Op::kOr:
            return alu(Alu::kOr, b);
        case Op::kXor:
            return alu(Alu::kXor, b);
        case Op::kMul:
            if (b.source == Source::kConstant) return out_.multiply_constant(constant(b));
            return out_.multiply(word(b, 0));
        case Op::kShl:
            if (bits == 64) return out_.load_constant(0);
            return out_.shift_left(bits);
        case Op::kShr:
            return out_.shift_right(bits == 64 ? 63 : bits, true);
        case Op::kShrU:
            if (bits == 64) return out_.load_constant(0);
            return out_.shift_right(bits, false);
        case Op::kNeg:
            return out_.invert();
        case Op::kEq:
            return compare(b, If::kEqual);
        case Op::kNe:
            return compare(b, If::kNotEqual);
        case Op::kLt:
            return compare(b, If::kLess);
        case Op::kLe:
            return compare(b, If::kLessEqual);
        case Op::kGt:
            return compare(b, If::kGreater);
        case Op::kGe:
            return compare(b, If::kGreaterEqual);
        case Op::kLtU:
            return compare(b, If::kBelow);
        case Op::kLeU:
            return compare(b, If::kBelowEqual);
        case Op::kEither:
            alu(Alu::kOr, b);
            return out_.truth();
        case Op::kNot:
            out_.test();
            return out_.flag(If::kEqual);
        case Op::kToBool:
            return out_.truth();
        case Op::kTwoComp:
        case Op::kSigned:
            if (bits == 0 || bits == 64) return;
            out_.shift_left(64 - bits);
            return out_.shift_right(64 - bits, true);
        case Op::kUSat:
            return out_.clamp(bits >= 63 ? INT64_MAX : (std::uint64_t{1} << bits) - 1);
        default:
            return;  // see has_code
    }
}

}  // namespace csaud::sw
