// The loops for processors with AVX2 and F16C; compiled with those instructions on x86-64 (CMakeLists.txt).
#include "collectives/reduction_avx2.hpp"

#if defined(__AVX2__) && defined(__F16C__)
#define CSAUD_LOOPS avx2
#include "collectives/reduction_loops.hpp"

namespace csaud::collectives {

Combine avx2_reduction(Operator op, Element element) noexcept {
    return avx2::loop_of(op, element);
}

}  // namespace csaud::collectives
#else
namespace csaud::collectives {

Combine avx2_reduction(Operator, Element) noexcept {
    return nullptr;
}

}  // namespace csaud::collectives
#endif
