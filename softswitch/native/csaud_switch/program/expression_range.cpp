// What values a node of an expression can have, found when it is built.
#include "csaud_switch/program/expression_range.hpp"

#include <algorithm>
#include <tuple>

#include "csaud_switch/program/expression.hpp"

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

}  // namespace

// The smallest 2^n - 1 that is not below a value of 0 or more.
Wide all_ones(Wide value) {
    Wide ones = 0;
    while (ones < value) ones = ones * 2 + 1;
    return ones;
}

// Is the number known to be 0 or more and less than 2^128, though its range is not?
bool ExpressionBuilder::find_large(const Item& item) const {
    const auto positive = [&](std::size_t kid) {
        const Item& i = items_[item.kids[kid]];
        return i.large || (i.bounded && i.low >= 0);
    };
    switch (item.op) {
        case Op::kAnd:
            return positive(0) || positive(1);
        case Op::kOr:
        case Op::kXor:
            return positive(0) && positive(1);
        case Op::kSelect:
            return positive(1) && positive(2);
        case Op::kShrU:
            return true;
        default:
            return false;
    }
}

// Orders and shifts to the right of numbers whose top bit is no sign.
Op ExpressionBuilder::without_sign(Op op, Node& a, Node& b) const {
    const auto positive = [](const Item& i) { return i.large || (i.bounded && i.low >= 0); };
    const Item& left = items_[a];
    const Item& right = items_[b];
    if (!left.large && !right.large) return op;
    if (op == Op::kShr && left.large && right.bounded) return Op::kShrU;
    if (!positive(left) || !positive(right)) return op;
    if (op == Op::kGt || op == Op::kGe) std::swap(a, b);
    if (op == Op::kLt || op == Op::kGt) return Op::kLtU;
    if (op == Op::kLe || op == Op::kGe) return Op::kLeU;
    return op;
}

void ExpressionBuilder::find_range(Item& item) const {
    const Item& a = items_[item.kids[0]];
    const Item& b = items_[item.kids[1]];
    if (is_boolean(item.op)) {
        item.low = 0;
        item.high = 1;
        return;
    }
    const auto unbounded = [this, &item] {
        item.bounded = false;
        item.large = find_large(item);
        item.low = -kLimit;
        item.high = kLimit;
    };
    const auto width_of_b = [&b]() -> unsigned {
        return b.low == b.high && b.low >= 0 && b.low <= 126 ? static_cast<unsigned>(b.low) : 127;
    };
    const bool known = a.bounded && (item.arity < 2 || b.bounded);
    bool overflow = false;
    switch (item.op) {
        case Op::kAdd:
            overflow = __builtin_add_overflow(a.low, b.low, &item.low) ||
                       __builtin_add_overflow(a.high, b.high, &item.high);
            break;
        case Op::kSub:
            overflow = __builtin_sub_overflow(a.low, b.high, &item.low) ||
                       __builtin_sub_overflow(a.high, b.low, &item.high);
            break;
        case Op::kMul: {
            std::array<Wide, 4> corners{};
            overflow = __builtin_mul_overflow(a.low, b.low, &corners[0]) ||
                       __builtin_mul_overflow(a.low, b.high, &corners[1]) ||
                       __builtin_mul_overflow(a.high, b.low, &corners[2]) ||
                       __builtin_mul_overflow(a.high, b.high, &corners[3]);
            std::tie(item.low, item.high) = std::minmax({corners[0], corners[1], corners[2], corners[3]});
            break;
        }
        case Op::kShl: {
            const Wide most = b.high;
            overflow = b.low < 0 || most > 125 ||
                       __builtin_mul_overflow(a.high, Wide{1} << most, &item.high) ||
                       __builtin_mul_overflow(a.low, Wide{1} << most, &item.low);
            item.low = std::min(item.low, a.low);
            item.high = std::max(item.high, a.high);
            break;
        }
        case Op::kShr:
        case Op::kDiv:
        case Op::kMod:
            item.low = std::min<Wide>(a.low, 0);
            item.high = std::max<Wide>(a.high, 0);
            if (a.low < 0) item.high = std::max(item.high, -item.low);
            if (item.op == Op::kShr && b.bounded && b.low == b.high && b.low >= 0 && b.low < 126) {
                item.low = a.low >> static_cast<unsigned>(b.low);
                item.high = a.high >> static_cast<unsigned>(b.low);
            }
            break;
        case Op::kAnd:
            if (a.bounded && a.low >= 0 && b.bounded && b.low >= 0) {
                item.low = 0;
                item.high = std::min(a.high, b.high);
                return;
            }
            if ((a.bounded && a.low >= 0) || (b.bounded && b.low >= 0)) {
                item.low = 0;
                item.high = a.bounded && a.low >= 0 ? a.high : b.high;
                return;
            }
            if (!a.bounded || !b.bounded) {
                unbounded();
                return;
            }
            [[fallthrough]];
        case Op::kOr:
        case Op::kXor: {
            const Wide most = all_ones(std::max({a.high, b.high, -(a.low + 1), -(b.low + 1), Wide{0}}));
            item.high = most;
            item.low = a.low < 0 || b.low < 0 ? -most - 1 : 0;
            break;
        }
        case Op::kNeg:
            item.low = ~a.high;
            item.high = ~a.low;
            break;
        case Op::kTwoComp:
        case Op::kSigned:
        case Op::kSat:
            if (const unsigned width = width_of_b(); width >= 1 && width <= 126) {
                item.low = -(Wide{1} << (width - 1));
                item.high = (Wide{1} << (width - 1)) - 1;
                return;
            }
            overflow = true;
            break;
        case Op::kUSat:
            if (const unsigned width = width_of_b(); width <= 125) {
                item.low = 0;
                item.high = (Wide{1} << width) - 1;
                return;
            }
            overflow = true;
            break;
        case Op::kSelect: {
            const Item& c = items_[item.kids[2]];
            item.low = std::min(b.low, c.low);
            item.high = std::max(b.high, c.high);
            item.bounded = b.bounded && c.bounded;
            item.large = !item.bounded && find_large(item);
            return;
        }
        case Op::kShrU: {
            // From two bits on the result has a range like any other.
            const auto by = static_cast<unsigned>(std::clamp<Wide>(b.low, 0, 127));
            if (by < 2) break;
            item.low = 0;
            item.high = static_cast<Wide>(mask128(128 - by));
            return;
        }
        default:
            overflow = true;
    }
    if (!known || overflow || item.low < -kLimit || item.high > kLimit) unbounded();
}

}  // namespace csaud::sw
