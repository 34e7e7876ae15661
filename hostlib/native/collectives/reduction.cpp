#include "collectives/reduction.hpp"

#include "collectives/reduction_avx2.hpp"

#define CSAUD_LOOPS baseline
#include "collectives/reduction_loops.hpp"

namespace csaud::collectives {

Combine baseline_reduction(Operator op, Element element) noexcept {
    return baseline::loop_of(op, element);
}

Divide division(Element element) noexcept {
    return baseline::division_of(element);
}

Combine reduction(Operator op, Element element) noexcept {
#if defined(__x86_64__)
    static const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
    if (wide) {
        if (const Combine found = avx2_reduction(op, element)) return found;
    }
#endif
    return baseline_reduction(op, element);
}

}  // namespace csaud::collectives
