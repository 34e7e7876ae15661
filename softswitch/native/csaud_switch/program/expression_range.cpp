#include "csaud_switch/program/expression_range.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace csaud::sw {

namespace {

bool is_boolean(Op op) {
    switch (op) {
        case Op::kEq:
        case Op::kNe:
        case Op::kLt:
        case Op::kLe:
        case Op::kGt:
        case Op::kGe:
        case Op::kBoth:
        case Op::kEither:
        case Op::kNot:
        case Op::kToBool:
        case Op::kLtU:
        case Op::kLeU:
            return true;
        default:
            return false;
    }
}

// Is a number whose range does not hold known to be 0 or more and less than 2^128?
bool is_large(Op op, std::span<const Range> of) {
    switch (op) {
        case Op::kAnd:
            return of[0].positive() || of[1].positive();
        case Op::kOr:
        case Op::kXor:
            return of[0].positive() && of[1].positive();
        case Op::kSelect:
            return of[1].positive() && of[2].positive();
        case Op::kShrU:
            return true;
        default:
            return false;
    }
}

}  // namespace

Wide all_ones(Wide value) {
    Wide ones = 0;
    while (ones < value) ones = ones * 2 + 1;
    return ones;
}

Range Range::of_bits(unsigned width) {
    if (width >= 126) return {.low = 0, .high = kLimit, .bounded = false, .large = true};
    return {.low = 0, .high = (Wide{1} << width) - 1};
}

Unsigned without_sign(Op op, const Range& a, const Range& b) {
    if (!a.large && !b.large) return {op, false};
    if (op == Op::kShr && a.large && b.bounded) return {Op::kShrU, false};
    if (!a.positive() || !b.positive()) return {op, false};
    switch (op) {
        case Op::kLt:
            return {Op::kLtU, false};
        case Op::kGt:
            return {Op::kLtU, true};
        case Op::kLe:
            return {Op::kLeU, false};
        case Op::kGe:
            return {Op::kLeU, true};
        default:
            return {op, false};
    }
}

Range range_of(Op op, std::span<const Range> operands) {
    if (is_boolean(op)) return {.low = 0, .high = 1};
    const Range& a = operands[0];
    const Range& b = operands[operands.size() > 1 ? 1 : 0];
    const Range unbounded{.low = -kLimit, .high = kLimit, .bounded = false, .large = is_large(op, operands)};
    Range made;
    const auto width_of_b = [&b]() -> unsigned {
        return b.low == b.high && b.low >= 0 && b.low <= 126 ? static_cast<unsigned>(b.low) : 127;
    };
    const bool known = a.bounded && b.bounded;
    bool overflow = false;
    switch (op) {
        case Op::kAdd:
            overflow = __builtin_add_overflow(a.low, b.low, &made.low) ||
                       __builtin_add_overflow(a.high, b.high, &made.high);
            break;
        case Op::kSub:
            overflow = __builtin_sub_overflow(a.low, b.high, &made.low) ||
                       __builtin_sub_overflow(a.high, b.low, &made.high);
            break;
        case Op::kMul: {
            std::array<Wide, 4> corners{};
            overflow = __builtin_mul_overflow(a.low, b.low, &corners[0]) ||
                       __builtin_mul_overflow(a.low, b.high, &corners[1]) ||
                       __builtin_mul_overflow(a.high, b.low, &corners[2]) ||
                       __builtin_mul_overflow(a.high, b.high, &corners[3]);
            std::tie(made.low, made.high) = std::minmax({corners[0], corners[1], corners[2], corners[3]});
            break;
        }
        case Op::kShl: {
            const Wide most = b.high;
            overflow = b.low < 0 || most > 125 ||
                       __builtin_mul_overflow(a.high, Wide{1} << most, &made.high) ||
                       __builtin_mul_overflow(a.low, Wide{1} << most, &made.low);
            made.low = std::min(made.low, a.low);
            made.high = std::max(made.high, a.high);
            break;
        }
        case Op::kShr:
        case Op::kDiv:
        case Op::kMod:
            made.low = std::min<Wide>(a.low, 0);
            made.high = std::max<Wide>(a.high, 0);
            if (a.low < 0) made.high = std::max(made.high, -made.low);
            if (op == Op::kShr && b.bounded && b.low == b.high && b.low >= 0 && b.low < 126) {
                made.low = a.low >> static_cast<unsigned>(b.low);
                made.high = a.high >> static_cast<unsigned>(b.low);
            }
            break;
        case Op::kAnd:
            if (a.bounded && a.low >= 0 && b.bounded && b.low >= 0) {
                made.low = 0;
                made.high = std::min(a.high, b.high);
                return made;
            }
            if ((a.bounded && a.low >= 0) || (b.bounded && b.low >= 0)) {
                made.low = 0;
                made.high = a.bounded && a.low >= 0 ? a.high : b.high;
                return made;
            }
            if (!known) return unbounded;
            [[fallthrough]];
        case Op::kOr:
        case Op::kXor: {
            const Wide most = all_ones(std::max({a.high, b.high, -(a.low + 1), -(b.low + 1), Wide{0}}));
            made.high = most;
            made.low = a.low < 0 || b.low < 0 ? -most - 1 : 0;
            break;
        }
        case Op::kNeg:
            made.low = ~a.high;
            made.high = ~a.low;
            break;
        case Op::kTwoComp:
        case Op::kSigned:
        case Op::kSat:
            if (const unsigned width = width_of_b(); width >= 1 && width <= 126) {
                made.low = -(Wide{1} << (width - 1));
                made.high = (Wide{1} << (width - 1)) - 1;
                return made;
            }
            overflow = true;
            break;
        case Op::kUSat:
            if (const unsigned width = width_of_b(); width <= 125) {
                made.low = 0;
                made.high = (Wide{1} << width) - 1;
                return made;
            }
            overflow = true;
            break;
        case Op::kSelect: {
            const Range& c = operands[2];
            made.low = std::min(b.low, c.low);
            made.high = std::max(b.high, c.high);
            made.bounded = b.bounded && c.bounded;
            made.large = !made.bounded && is_large(op, operands);
            return made;
        }
        case Op::kShrU: {
            // From two bits on the result has a range like any other.
            const auto by = static_cast<unsigned>(std::clamp<Wide>(b.low, 0, 127));
            if (by < 2) break;
            made.low = 0;
            made.high = static_cast<Wide>(mask128(128 - by));
            return made;
        }
        default:
            overflow = true;
    }
    if (!known || overflow || made.low < -kLimit || made.high > kLimit) return unbounded;
    return made;
}

}  // namespace csaud::sw
