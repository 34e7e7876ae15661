// Element-wise reductions, with the bits that numpy's ufuncs of the same names give.
#pragma once

#include <cstddef>
#include <cstdint>

namespace csaud::collectives {

enum class Element : std::uint8_t { float16, bfloat16, float32, float64, int32, int64, boolean };
enum class Operator : std::uint8_t { sum, product, min, max, bit_and, bit_or, bit_xor };

// into[i] = first[i] (op) second[i] for `count` elements. `into` may be `first` or `second`; otherwise none
// overlaps another. Any alignment.
using Combine = void (*)(const std::byte* first, const std::byte* second, std::byte* into,
                         std::size_t count) noexcept;

// Loops for this processor; nullptr where the elements have no such operation (bits of floats). 16-bit floats
// are combined in 32 bits and rounded to nearest, ties to even. Integers wrap around.
Combine reduction(Operator, Element) noexcept;

// The same in loops that any processor of the architecture runs.
Combine baseline_reduction(Operator, Element) noexcept;

constexpr std::size_t bytes_of(Element element) noexcept {
    switch (element) {
        case Element::boolean:
            return 1;
        case Element::float16:
        case Element::bfloat16:
            return 2;
        case Element::float32:
        case Element::int32:
            return 4;
        default:
            return 8;
    }
}

}  // namespace csaud::collectives
