#include "csaud_switch/program/expression_code.hpp"

#include <optional>
#include <utility>
#include <vector>

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

std::optional<If> condition_of(Op op) {
    switch (op) {
        case Op::kEq:
            return If::kEqual;
        case Op::kNe:
            return If::kNotEqual;
        case Op::kLt:
            return If::kLess;
        case Op::kLe:
            return If::kLessEqual;
        case Op::kGt:
            return If::kGreater;
        case Op::kGe:
            return If::kGreaterEqual;
        case Op::kLtU:
            return If::kBelow;
        case Op::kLeU:
            return If::kBelowEqual;
        default:
            return std::nullopt;
    }
}

// The processor's conditions come in pairs.
If negated(If condition) {
    return static_cast<If>(static_cast<int>(condition) ^ 1);
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
    const Expression::Code code = ordered(*expression.narrow_code());
    steps(code, code.instructions.size());
    load(code.result);
    return true;
}

// The temporary that was made last should come first.
Expression::Code ExpressionCode::ordered(const Expression::Code& code) {
    Expression::Code made = code;
    for (std::size_t at = 1; at < made.instructions.size(); ++at) {
        Instruction& instruction = made.instructions[at];
        const bool last_is_second =
            instruction.b.source == Source::kTemporary && instruction.b.index + 1 == at;
        if (last_is_second && commutes(instruction.op)) std::swap(instruction.a, instruction.b);
    }
    return made;
}

// The first of its instructions.
void ExpressionCode::steps(const Expression::Code& code, std::size_t count) {
    code_ = &code;
    held_ = UINT32_MAX;
    const std::vector<bool> needed = kept(code);
    for (std::uint32_t at = 0; at < count; ++at) {
        step(code.instructions[at]);
        held_ = at;
        const bool is_result = code.result.source == Source::kTemporary && code.result.index == at;
        const bool is_last = at + 1 == code.instructions.size();
        if (needed[at] || (is_result && !is_last))
            out_.store({Assembler::Base::kStack, first_ + kScratch + at});
    }
}

void ExpressionCode::jump_unless(const Expression& expression, Assembler::Label elsewhere) {
    if (expression.is_constant()) {
        if (expression.constant() == 0) out_.jump(elsewhere);
        return;
    }
    const Expression::Code code = ordered(*expression.narrow_code());
    const bool computed = !code.instructions.empty() && code.result.source == Source::kTemporary &&
                          code.result.index + 1 == code.instructions.size();
    if (computed) {
        // The last instruction sets the processor's flags, or decides by them.
        const Instruction& last = code.instructions.back();
        if (const auto unless = condition_of(last.op)) {
            steps(code, code.instructions.size() - 1);
            load(last.a);
            alu(Alu::kCmp, last.b);
            out_.jump_if(negated(*unless), elsewhere);
            return;
        }
        if (last.op == Op::kNot || last.op == Op::kToBool) {
            steps(code, code.instructions.size() - 1);
            load(last.a);
            out_.test();
            out_.jump_if(last.op == Op::kNot ? If::kNotEqual : If::kEqual, elsewhere);
            return;
        }
        if (last.op == Op::kBoth && last.b.source != Source::kConstant) {
            steps(code, code.instructions.size() - 1);
            out_.test_word(word(last.b, 0));
            out_.jump_if(If::kEqual, elsewhere);
            load(last.a);
            out_.test();
            out_.jump_if(If::kEqual, elsewhere);
            return;
        }
        if (last.op == Op::kEither) {
            steps(code, code.instructions.size() - 1);
            load(last.a);
            alu(Alu::kOr, last.b);
            out_.test();
            out_.jump_if(If::kEqual, elsewhere);
            return;
        }
    }
    if (code.instructions.empty() && code.result.source != Source::kConstant) {
        code_ = &code;
        out_.test_word(word(code.result, 0));
    } else {
        steps(code, code.instructions.size());
        load(code.result);
        out_.test();
    }
    out_.jump_if(If::kEqual, elsewhere);
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

void ExpressionCode::step(const Instruction& instruction) {
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
        case Op::kNe:
        case Op::kLt:
        case Op::kLe:
        case Op::kGt:
        case Op::kGe:
        case Op::kLtU:
        case Op::kLeU:
            alu(Alu::kCmp, b);
            return out_.flag(*condition_of(instruction.op));
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
