// Arithmetic of GF(2^8), polynomial 0x11D, and the code's matrix. Row 0 is XOR; any square part of the matrix
// has an inverse, since it is a Cauchy matrix whose columns were multiplied by what makes row 0 ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace csaud {

inline constexpr std::size_t kMostParityRows = 8;       // of a message
inline constexpr std::size_t kMostParityCovered = 128;  // packets, the last of the message

namespace galois {

std::uint8_t multiply(std::uint8_t a, std::uint8_t b) noexcept;
// Of what is not 0.
std::uint8_t inverse(std::uint8_t a) noexcept;

// Factor of the packet in `column` (0: the last of the message) in a row of parity.
std::uint8_t coefficient(std::size_t row, std::size_t column) noexcept;

// Adds factor k times `source` to the bytes at rows[k], as many.
void add_products(std::span<const std::uint8_t> factors, std::span<const std::byte> source,
                  std::span<std::byte* const> rows) noexcept;

// Inverts the n x n matrix in place; n at most kMostParityRows. False: it has no inverse.
bool invert(std::uint8_t (&matrix)[kMostParityRows][kMostParityRows], std::size_t n) noexcept;

}  // namespace galois
}  // namespace csaud
