#include "csaud_host/parity/galois.hpp"

#include <array>
#include <utility>

#ifdef CSAUD_HAVE_ISAL
#include <isa-l/erasure_code.h>
#endif

namespace csaud::galois {
namespace {

constexpr unsigned kPolynomial = 0x11D;
constexpr unsigned kFirstRow = 255;  // rows are 255, 254 ..., columns 0, 1 ...: they never meet

struct Tables {
    std::array<std::uint8_t, 510> power{};  // of 2
    std::array<std::uint8_t, 256> log{};
};
constexpr Tables kTables = [] {
    Tables t;
    unsigned x = 1;
    for (unsigned i = 0; i < 255; ++i) {
        t.power[i] = t.power[i + 255] = static_cast<std::uint8_t>(x);
        t.log[x] = static_cast<std::uint8_t>(i);
        x <<= 1;
        if (x > 255) x ^= kPolynomial;
    }
    return t;
}();

#ifndef CSAUD_HAVE_ISAL
void add_product(std::uint8_t factor, std::span<const std::byte> source, std::byte* to) noexcept {
    if (factor == 1) {
        for (std::size_t i = 0; i < source.size(); ++i) to[i] ^= source[i];
        return;
    }
    std::array<std::byte, 256> product;
    for (unsigned b = 0; b < 256; ++b)
        product[b] = static_cast<std::byte>(multiply(factor, static_cast<std::uint8_t>(b)));
    for (std::size_t i = 0; i < source.size(); ++i) to[i] ^= product[std::to_integer<std::size_t>(source[i])];
}
#endif

}  // namespace

std::uint8_t multiply(std::uint8_t a, std::uint8_t b) noexcept {
    if (a == 0 || b == 0) return 0;
    return kTables.power[std::size_t{kTables.log[a]} + kTables.log[b]];
}

std::uint8_t inverse(std::uint8_t a) noexcept {
    return kTables.power[255U - kTables.log[a]];
}

std::uint8_t coefficient(std::size_t row, std::size_t column) noexcept {
    const auto first = static_cast<std::uint8_t>(kFirstRow ^ column);
    const auto own = static_cast<std::uint8_t>((kFirstRow - row) ^ column);
    return multiply(first, inverse(own));
}

void add_products(std::span<const std::uint8_t> factors, std::span<const std::byte> source,
                  std::span<std::byte* const> rows) noexcept {
#ifdef CSAUD_HAVE_ISAL
    constexpr std::size_t kTableBytes = 32;  // of a factor
    std::array<unsigned char, kTableBytes * kMostParityRows> tables;
    std::array<unsigned char*, kMostParityRows> to;
    std::array<unsigned char, kMostParityRows> by;
    for (std::size_t k = 0; k < factors.size(); ++k) {
        by[k] = factors[k];
        to[k] = reinterpret_cast<unsigned char*>(rows[k]);
    }
    const int many = static_cast<int>(factors.size());
    ec_init_tables(1, many, by.data(), tables.data());
    // It reads the source alone, though its type does not say so.
    auto* from = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(source.data()));
    ec_encode_data_update(static_cast<int>(source.size()), 1, many, 0, tables.data(), from, to.data());
#else
    for (std::size_t k = 0; k < factors.size(); ++k) add_product(factors[k], source, rows[k]);
#endif
}

// Gauss and Jordan, with the identity beside it.
bool invert(std::uint8_t (&matrix)[kMostParityRows][kMostParityRows], std::size_t n) noexcept {
    std::uint8_t result[kMostParityRows][kMostParityRows] = {};
    for (std::size_t i = 0; i < n; ++i) result[i][i] = 1;
    for (std::size_t column = 0; column < n; ++column) {
        std::size_t pivot = column;
        while (pivot < n && matrix[pivot][column] == 0) ++pivot;
        if (pivot == n) return false;
        std::swap(matrix[pivot], matrix[column]);
        std::swap(result[pivot], result[column]);
        const std::uint8_t scale = inverse(matrix[column][column]);
        for (std::size_t j = 0; j < n; ++j) {
            matrix[column][j] = multiply(matrix[column][j], scale);
            result[column][j] = multiply(result[column][j], scale);
        }
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint8_t factor = matrix[i][column];
            if (i == column || factor == 0) continue;
            for (std::size_t j = 0; j < n; ++j) {
                matrix[i][j] ^= multiply(factor, matrix[column][j]);
                result[i][j] ^= multiply(factor, result[column][j]);
            }
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) matrix[i][j] = result[i][j];
    }
    return true;
}

}  // namespace csaud::galois
