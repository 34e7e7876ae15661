// What values an expression can have, found when it is built.
#pragma once

#include <span>

#include "csaud_switch/base/value.hpp"
#include "csaud_switch/program/operation.hpp"

namespace csaud::sw {

// Beyond this a range is as good as unknown; within, sums of two do not overflow.
inline constexpr Wide kLimit = Wide{1} << 126;

struct Range {
    Wide low = 0;
    Wide high = 0;
    bool bounded = true;  // these hold
    bool large = false;   // otherwise: 0 or more, and less than 2^128

    static Range of_bits(unsigned width);  // without a sign
    bool positive() const { return large || (bounded && low >= 0); }
    bool within(Wide least, Wide most) const { return bounded && low >= least && high <= most; }
};

// Of what an operation makes of operands that lie in these.
Range range_of(Op op, std::span<const Range> operands);

// Orders and shifts to the right of numbers whose top bit is no sign.
struct Unsigned {
    Op op;
    bool swapped;  // its operands are
};
Unsigned without_sign(Op op, const Range& a, const Range& b);

// The smallest 2^n - 1 that is not below a value of 0 or more.
Wide all_ones(Wide value);

}  // namespace csaud::sw
