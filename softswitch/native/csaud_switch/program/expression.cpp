#include "csaud_switch/program/expression.hpp"

#include <type_traits>

#include "csaud_switch/base/bits.hpp"

namespace csaud::sw {

namespace {

// Written once for 64-bit and for 128-bit words.
template <typename Word>
struct Arithmetic {
    using Unsigned = std::conditional_t<sizeof(Word) == 8, std::uint64_t, UWide>;
    static constexpr unsigned kBits = sizeof(Word) * 8;

    static Word add(Word a, Word b) {
        return static_cast<Word>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    }
    static Word sub(Word a, Word b) {
        return static_cast<Word>(static_cast<Unsigned>(a) - static_cast<Unsigned>(b));
    }
    static Word mul(Word a, Word b) {
        return static_cast<Word>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
    }

    static Word shl(Word a, Word b) {
        if (static_cast<Unsigned>(b) >= kBits) return 0;
        return static_cast<Word>(static_cast<Unsigned>(a) << static_cast<unsigned>(b));
    }
    static Word shr(Word a, Word b) {
        if (static_cast<Unsigned>(b) >= kBits) return a < 0 ? -1 : 0;
        return a >> static_cast<unsigned>(b);
    }
    // Division by zero has no meaning in P4; it must not stop the switch.
    static Word div(Word a, Word b) { return b == 0 || (b == -1) ? (b == 0 ? 0 : sub(0, a)) : a / b; }
    static Word mod(Word a, Word b) { return b == 0 || b == -1 ? 0 : a % b; }

    static Word two_comp(Word a, Word width) {
        if (width <= 0 || static_cast<Unsigned>(width) >= kBits) return a;
        const unsigned up = kBits - static_cast<unsigned>(width);
        return static_cast<Word>(static_cast<Unsigned>(a) << up) >> up;
    }
    static Word usat(Word a, Word width) {
        if (a < 0) return 0;
        if (static_cast<Unsigned>(width) >= kBits - 1) return a;
        const Word most = static_cast<Word>((Unsigned{1} << static_cast<unsigned>(width)) - 1);
        return a > most ? most : a;
    }
    static Word sat(Word a, Word width) {
        if (width <= 0 || static_cast<Unsigned>(width) >= kBits) return a;
        const Word most = static_cast<Word>((Unsigned{1} << (static_cast<unsigned>(width) - 1)) - 1);
        return a > most ? most : (a < -most - 1 ? -most - 1 : a);
    }
};

// As numbers, as on the reference: zeros in front make no difference.
bool same_bits(const Frame& frame, std::uint64_t slot, std::uint64_t other) {
    if (frame.slots[slot] > frame.slots[other]) std::swap(slot, other);
    std::uint64_t shorter = frame.slots[slot];
    std::uint64_t longer = frame.slots[other];
    auto at = static_cast<std::uint32_t>(frame.slots[slot + 1]);
    auto other_at = static_cast<std::uint32_t>(frame.slots[other + 1]);
    while (longer > 0) {
        const std::uint64_t ahead = longer > shorter ? longer - shorter : longer;
        const auto width = static_cast<unsigned>(ahead < 32 ? ahead : 32);
        std::uint64_t wanted = 0;
        if (longer == shorter) {
            wanted = extract_bits(frame.bytes, at, width);
            at += width;
            shorter -= width;
        }
        if (extract_bits(frame.bytes, other_at, width) != wanted) return false;
        other_at += width;
        longer -= width;
    }
    return true;
}

template <typename Word>
inline Word apply(Op op, Word a, Word b, Word c, const Frame& frame) {
    using A = Arithmetic<Word>;
    switch (op) {
        case Op::kAdd:
            return A::add(a, b);
        case Op::kSub:
            return A::sub(a, b);
        case Op::kMul:
            return A::mul(a, b);
        case Op::kDiv:
            return A::div(a, b);
        case Op::kMod:
            return A::mod(a, b);
        case Op::kShl:
            return A::shl(a, b);
        case Op::kShr:
            return A::shr(a, b);
        case Op::kAnd:
            return a & b;
        case Op::kOr:
            return a | b;
        case Op::kXor:
            return a ^ b;
        case Op::kNeg:
            return ~a;
        case Op::kEq:
            return a == b;
        case Op::kNe:
            return a != b;
        case Op::kLt:
            return a < b;
        case Op::kLe:
            return a <= b;
        case Op::kGt:
            return a > b;
        case Op::kGe:
            return a >= b;
        case Op::kBoth:
            return (a != 0) & (b != 0);
        case Op::kEither:
            return (a != 0) | (b != 0);
        case Op::kNot:
            return a == 0;
        case Op::kToBool:
            return a != 0;
        case Op::kTwoComp:
        case Op::kSigned:
            return A::two_comp(a, b);
        case Op::kUSat:
            return A::usat(a, b);
        case Op::kSat:
            return A::sat(a, b);
        case Op::kSelect:
            return a != 0 ? b : c;
        case Op::kWide:
        case Op::kLoadWide:
            return a;  // see eval_wide
        case Op::kLoad: {
            const auto index = static_cast<std::uint64_t>(a);
            const auto shape = static_cast<std::uint64_t>(c);
            if (index >= (shape & UINT32_MAX)) return 0;
            return static_cast<Word>(frame.slots[static_cast<std::uint64_t>(b) + index * (shape >> 32)]);
        }
        case Op::kSameBits:
            return same_bits(frame, static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
        case Op::kShrU:
            return static_cast<typename A::Unsigned>(b) >= A::kBits
                       ? 0
                       : static_cast<Word>(static_cast<typename A::Unsigned>(a) >> static_cast<unsigned>(b));
        case Op::kLtU:
            return static_cast<typename A::Unsigned>(a) < static_cast<typename A::Unsigned>(b);
        case Op::kLeU:
            return static_cast<typename A::Unsigned>(a) <= static_cast<typename A::Unsigned>(b);
    }
    return 0;
}

}  // namespace

std::uint64_t Expression::eval_narrow(const Frame& frame) const {
    const Code& code = *code_;
    std::array<std::uint64_t, kMaxInstructions> temporaries;
    const std::array<const std::uint64_t*, 4> sources{frame.slots, code.constants.data(), frame.parameters,
                                                      temporaries.data()};
    const auto load = [&sources](const Operand& o) {
        return static_cast<std::int64_t>(sources[static_cast<std::size_t>(o.source)][o.index]);
    };
    std::uint64_t* out = temporaries.data();
    for (const Instruction& instruction : code.instructions) {
        const bool ternary = instruction.op == Op::kSelect || instruction.op == Op::kLoad;
        const std::int64_t c = ternary ? load(instruction.c) : 0;
        *out++ = static_cast<std::uint64_t>(
            apply<std::int64_t>(instruction.op, load(instruction.a), load(instruction.b), c, frame));
    }
    return static_cast<std::uint64_t>(load(code.result));
}

Wide Expression::eval_wide(const Frame& frame) const {
    if (shape_ == Shape::kConstant && !code_) return 0;
    const Code& code = *code_;
    std::array<Wide, kMaxInstructions> temporaries;
    const auto load = [&](const Operand& o) -> Wide {
        switch (o.source) {
            case Source::kSlot:
                return static_cast<Wide>(frame.slots[o.index]);
            case Source::kConstant:
                return code.wide_constants[o.index];
            case Source::kParameter:
                return static_cast<Wide>(frame.parameters[o.index]);
            case Source::kTemporary:
                return temporaries[o.index];
        }
        return 0;
    };
    std::size_t at = 0;
    for (const Instruction& instruction : code.instructions) {
        if (instruction.op == Op::kWide) {
            const std::uint64_t* words =
                (instruction.a.source == Source::kSlot ? frame.slots : frame.parameters) +
                instruction.a.index;
            temporaries[at++] = static_cast<Wide>((UWide{words[1]} << 64) | words[0]);
            continue;
        }
        if (instruction.op == Op::kLoadWide) {
            const auto index = static_cast<UWide>(load(instruction.a));
            const auto shape = static_cast<std::uint64_t>(load(instruction.c));
            Wide value = 0;
            if (index < (shape & UINT32_MAX)) {
                const std::uint64_t* words = frame.slots + static_cast<std::uint64_t>(load(instruction.b)) +
                                             static_cast<std::uint64_t>(index) * (shape >> 32);
                value = static_cast<Wide>((UWide{words[1]} << 64) | words[0]);
            }
            temporaries[at++] = value;
            continue;
        }
        temporaries[at++] =
            apply<Wide>(instruction.op, load(instruction.a), load(instruction.b), load(instruction.c), frame);
    }
    return load(code.result);
}

bool Expression::reads(std::vector<std::uint32_t>& words) const {
    if (code_ == nullptr) return true;
    const auto look = [&](const Operand& operand) {
        if (operand.source == Source::kSlot) words.push_back(operand.index);
    };
    look(code_->result);
    for (const Instruction& instruction : code_->instructions) {
        if (instruction.op == Op::kLoad || instruction.op == Op::kLoadWide || instruction.op == Op::kSameBits)
            return false;
        look(instruction.a);
        look(instruction.b);
        look(instruction.c);
        if (instruction.op == Op::kWide && instruction.a.source == Source::kSlot)
            words.push_back(instruction.a.index + 1);
    }
    return true;
}

const std::uint32_t* Expression::wide_slot() const {
    if (shape_ != Shape::kWideCode || code_->instructions.size() != 1) return nullptr;
    const Instruction& only = code_->instructions.front();
    return only.op == Op::kWide && only.a.source == Source::kSlot ? &only.a.index : nullptr;
}

void Expression::find_shape(bool wide) {
    const Code& code = *code_;
    shape_ = wide ? Shape::kWideCode : Shape::kCode;
    if (code.instructions.empty()) {
        index_ = code.result.index;
        if (code.result.source == Source::kSlot) shape_ = Shape::kSlot;
        if (code.result.source == Source::kParameter) shape_ = Shape::kParameter;
        if (code.result.source == Source::kConstant) {
            shape_ = Shape::kConstant;
            value_ = code.constants[index_];
        }
        return;
    }
    const Instruction& only = code.instructions.front();
    if (wide || code.instructions.size() != 1 || only.a.source != Source::kSlot) return;
    if (only.op == Op::kToBool) {
        shape_ = Shape::kSlotIsSet;
        index_ = only.a.index;
    }
    if (only.b.source != Source::kConstant) return;
    const bool simple = only.op == Op::kEq || only.op == Op::kNe || only.op == Op::kAnd;
    if (!simple) return;
    shape_ = only.op == Op::kEq ? Shape::kSlotEquals
                                : (only.op == Op::kNe ? Shape::kSlotDiffers : Shape::kSlotMasked);
    index_ = only.a.index;
    value_ = code.constants[only.b.index];
}

}  // namespace csaud::sw
