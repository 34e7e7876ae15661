// Ranges of expressions, for those who build them.
#pragma once

#include "csaud_switch/base/value.hpp"

namespace csaud::sw {

// Beyond this a range is as good as unknown; within, sums of two do not overflow.
inline constexpr Wide kLimit = Wide{1} << 126;

// The smallest 2^n - 1 that is not below a value of 0 or more.
Wide all_ones(Wide value);

}  // namespace csaud::sw
