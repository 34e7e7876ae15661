// Element-wise reductions, with the bits that numpy's ufuncs of the same names give.
#pragma once

#include <cstddef>
#include <cstdint>

namespace csaud::collectives {

enum class Element : std::uint8_t {
    float16,
    bfloat16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    boolean
};
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

// values[i] = values[i] / divisor for `count` floats; 16-bit ones are divided in 32 bits and rounded as
// above. Any alignment.
using Divide = void (*)(std::byte* values, std::size_t count, double divisor) noexcept;

// nullptr where the elements are no floats.
Divide division(Element) noexcept;

constexpr std::size_t bytes_of(Element element) noexcept {
    switch (element) {
        case Element::boolean:
        case Element::int8:
        case Element::uint8:
            return 1;
        case Element::float16:
        case Element::bfloat16:
        case Element::int16:
        case Element::uint16:
            return 2;
        case Element::float32:
        case Element::int32:
        case Element::uint32:
            return 4;
        default:
            return 8;
    }
}

}  // namespace csaud::collectives
