// The loops of all reductions. Included by one source file for each set of processor instructions, into a
// namespace of its own (CSAUD_LOOPS), so that none runs on a processor that lacks its instructions.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "collectives/reduction.hpp"
#if defined(__F16C__)
#include <immintrin.h>
#endif

// `into` may be an operand, which reads and writes the same element: no iteration needs another one.
#if defined(__clang__)
#define CSAUD_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define CSAUD_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace csaud::collectives::CSAUD_LOOPS {
namespace {

template <class T>
T load(const std::byte* from, std::size_t index) noexcept {
    T value;
    std::memcpy(&value, from + index * sizeof(T), sizeof(T));
    return value;
}
template <class T>
void store(std::byte* to, std::size_t index, T value) noexcept {
    std::memcpy(to + index * sizeof(T), &value, sizeof(T));
}

// --- 16-bit floats: `wide` and `narrow` between them and 32 bits.

struct Half {
    std::uint16_t bits;
};
struct Brain {
    std::uint16_t bits;
};

inline float wide(Brain value) noexcept {
    return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}
inline Brain narrow(float value, Brain) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t nan = ((bits >> 16) & 0x8000U) | 0x7fc0U;
    const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
    return {static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? nan : rounded)};
}

inline float wide(Half value) noexcept {
#if defined(__F16C__)
    return _cvtsh_ss(value.bits);
#else
    const std::uint32_t sign = (value.bits & 0x8000U) << 16;
    const std::uint32_t rest = value.bits & 0x7fffU;
    if (rest >= 0x7c00U) return std::bit_cast<float>(sign | 0x7f800000U | (rest & 0x3ffU) << 13);
    if (rest >= 0x0400U) return std::bit_cast<float>(sign | ((rest << 13) + (112U << 23)));
    const float subnormal = static_cast<float>(rest) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(subnormal));
#endif
}
inline Half narrow(float value, Half) noexcept {
#if defined(__F16C__)
    return {static_cast<std::uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT))};
#else
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000U;
    const std::uint32_t rest = bits & 0x7fffffffU;
    std::uint32_t result = 0;
    if (rest > 0x7f800000U) {
        result = 0x7e00U | ((rest >> 13) & 0x3ffU);
    } else if (rest >= 0x47800000U) {  // 2^16 and more
        result = 0x7c00U;
    } else if (rest >= 0x38800000U) {  // the smallest normal one
        result = (rest - (112U << 23) + 0xfffU + ((rest >> 13) & 1U)) >> 13;
    } else {
        // The addition rounds at the place of the last bit of a subnormal one.
        result = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0.5F) - 0x3f000000U;
    }
    return {static_cast<std::uint16_t>(sign | result)};
#endif
}

template <class T>
constexpr bool kShort = std::is_same_v<T, Half> || std::is_same_v<T, Brain>;

// --- operations on one pair

struct Sum {
    template <class T>
    static T of(T a, T b) noexcept {
        if constexpr (kShort<T>) {
            return narrow(wide(a) + wide(b), a);
        } else if constexpr (std::is_integral_v<T>) {
            using U = std::make_unsigned_t<T>;
            return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
        } else {
            return a + b;
        }
    }
};
struct Product {
    template <class T>
    static T of(T a, T b) noexcept {
        if constexpr (kShort<T>) {
            return narrow(wide(a) * wide(b), a);
        } else if constexpr (std::is_integral_v<T>) {
            // At least as wide as unsigned: short ones would be multiplied as int, which must not overflow.
            using U = std::common_type_t<unsigned, std::make_unsigned_t<T>>;
            return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
        } else {
            return a * b;
        }
    }
};

// A NaN wins, the first one of two. Of equal ones (zeros of either sign) the one that numpy takes.
template <bool kLess, class T>
T extreme(T a, T b) noexcept {
    if constexpr (std::is_same_v<T, Half>) {
        const float x = wide(a), y = wide(b);
        return (kLess ? x <= y : x >= y) || x != x ? a : b;
    } else if constexpr (std::is_same_v<T, Brain>) {
        const float x = wide(a), y = wide(b);
        return (kLess ? x < y : x > y) || x != x ? a : b;
    } else {
        return (kLess ? a < b : a > b) || a != a ? a : b;
    }
}
struct Min {
    template <class T>
    static T of(T a, T b) noexcept {
        return extreme<true>(a, b);
    }
};
struct Max {
    template <class T>
    static T of(T a, T b) noexcept {
        return extreme<false>(a, b);
    }
};
struct And {
    template <class T>
    static T of(T a, T b) noexcept {
        return static_cast<T>(a & b);
    }
};
struct Or {
    template <class T>
    static T of(T a, T b) noexcept {
        return static_cast<T>(a | b);
    }
};
struct Xor {
    template <class T>
    static T of(T a, T b) noexcept {
        return static_cast<T>(a ^ b);
    }
};

// --- loops

template <class T, class Op>
void loop(const std::byte* first, const std::byte* second, std::byte* into, std::size_t count) noexcept {
    std::size_t i = 0;
#if defined(__F16C__)
    if constexpr (std::is_same_v<T, Half> && (std::is_same_v<Op, Sum> || std::is_same_v<Op, Product>)) {
        for (; i + 8 <= count; i += 8) {
            const auto at = [i](const std::byte* p) {
                return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 2 * i)));
            };
            const __m256 a = at(first), b = at(second);
            const __m256 r = std::is_same_v<Op, Sum> ? _mm256_add_ps(a, b) : _mm256_mul_ps(a, b);
            _mm_storeu_si128(reinterpret_cast<__m128i*>(into + 2 * i),
                             _mm256_cvtps_ph(r, _MM_FROUND_TO_NEAREST_INT));
        }
    }
#endif
    CSAUD_INDEPENDENT
    for (std::size_t k = i; k < count; ++k) store<T>(into, k, Op::of(load<T>(first, k), load<T>(second, k)));
}

// Of bool, a sum is "or" and a product "and", and whatever is not 0 counts as 1.
template <class Op>
void loop_bool(const std::byte* first, const std::byte* second, std::byte* into, std::size_t count) noexcept {
    CSAUD_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) {
        const auto a = static_cast<std::uint8_t>(load<std::uint8_t>(first, i) != 0);
        const auto b = static_cast<std::uint8_t>(load<std::uint8_t>(second, i) != 0);
        store<std::uint8_t>(into, i, Op::of(a, b));
    }
}

template <class T>
Combine number(Operator op) noexcept {
    switch (op) {
        case Operator::sum:
            return loop<T, Sum>;
        case Operator::product:
            return loop<T, Product>;
        case Operator::min:
            return loop<T, Min>;
        case Operator::max:
            return loop<T, Max>;
        default:
            break;
    }
    if constexpr (std::is_integral_v<T>) {
        if (op == Operator::bit_and) return loop<T, And>;
        if (op == Operator::bit_or) return loop<T, Or>;
        return loop<T, Xor>;
    } else {
        return nullptr;
    }
}

template <class T>
[[maybe_unused]] void divide(std::byte* values, std::size_t count, double divisor) noexcept {
    CSAUD_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) {
        const T value = load<T>(values, i);
        if constexpr (kShort<T>) {
            store<T>(values, i, narrow(wide(value) / static_cast<float>(divisor), value));
        } else {
            store<T>(values, i, value / static_cast<T>(divisor));
        }
    }
}

[[maybe_unused]] Divide division_of(Element element) noexcept {
    switch (element) {
        case Element::float16:
            return divide<Half>;
        case Element::bfloat16:
            return divide<Brain>;
        case Element::float32:
            return divide<float>;
        case Element::float64:
            return divide<double>;
        default:
            return nullptr;
    }
}

Combine boolean(Operator op) noexcept {
    switch (op) {
        case Operator::sum:
        case Operator::max:
        case Operator::bit_or:
            return loop_bool<Or>;
        case Operator::bit_xor:
            return loop_bool<Xor>;
        default:
            return loop_bool<And>;
    }
}

Combine loop_of(Operator op, Element element) noexcept {
    switch (element) {
        case Element::float16:
            return number<Half>(op);
        case Element::bfloat16:
            return number<Brain>(op);
        case Element::float32:
            return number<float>(op);
        case Element::float64:
            return number<double>(op);
        case Element::int8:
            return number<std::int8_t>(op);
        case Element::int16:
            return number<std::int16_t>(op);
        case Element::int32:
            return number<std::int32_t>(op);
        case Element::int64:
            return number<std::int64_t>(op);
        case Element::uint8:
            return number<std::uint8_t>(op);
        case Element::uint16:
            return number<std::uint16_t>(op);
        case Element::uint32:
            return number<std::uint32_t>(op);
        case Element::uint64:
            return number<std::uint64_t>(op);
        case Element::boolean:
            return boolean(op);
    }
    return nullptr;
}

}  // namespace
}  // namespace csaud::collectives::CSAUD_LOOPS
