// Only reduction.cpp asks for these, after a look at the processor.
#pragma once

#include "collectives/reduction.hpp"

namespace csaud::collectives {

// nullptr where they were not compiled.
Combine avx2_reduction(Operator, Element) noexcept;

}  // namespace csaud::collectives
