#include "csaud_host/parity/parity_rows.hpp"

#include <cstring>

namespace csaud {
namespace {
// Where in its message the packet of a column lies.
std::size_t place_of(std::size_t column, const Cut& packets) noexcept {
    return packets.packets() - 1 - column;
}
}  // namespace

void ParityRows::open(RowPool& pool, std::size_t covered, std::size_t rows) {
    *this = {};
    covered_ = static_cast<std::uint16_t>(covered);
    for (; rows_ < rows; ++rows_) {
        buffers_[rows_] = pool.take();
        if (buffers_[rows_] == kNone) return;
    }
}

void ParityRows::close(RowPool& pool) {
    while (rows_ > 0) pool.release(buffers_[--rows_]);
}

void ParityRows::add(const RowPool& pool, std::size_t column, std::span<const std::byte> payload) noexcept {
    added_[column] = true;
    if (rows_ == 0 || payload.empty()) return;
    std::array<std::uint8_t, kMostParityRows> factors;
    std::array<std::byte*, kMostParityRows> rows;
    for (std::size_t k = 0; k < rows_; ++k) {
        factors[k] = galois::coefficient(k, column);
        rows[k] = pool.at(buffers_[k]);
    }
    galois::add_products(std::span(factors).first(rows_), payload, std::span(rows).first(rows_));
}

bool ParityRows::add_sent(RowPool& pool, std::size_t row, std::span<const std::byte> payload,
                          const Cut& packets, std::span<const std::byte> buffer) {
    if (sent_[row]) return false;
    for (; rows_ <= row; ++rows_) {  // more than were expected
        const std::uint32_t fresh = pool.take();
        if (fresh == kNone) return false;
        buffers_[rows_] = fresh;
        std::byte* const to = pool.at(fresh);
        for (std::size_t column = 0; column < covered_; ++column) {
            const std::size_t idx = place_of(column, packets);
            if (!added_[column]) continue;
            const std::uint8_t factor = galois::coefficient(rows_, column);
            galois::add_products({&factor, 1}, buffer.subspan(idx * packets.payload, packets.length_of(idx)),
                                 {&to, 1});
        }
    }
    sent_[row] = true;
    constexpr std::uint8_t kOnce = 1;
    std::byte* const to = pool.at(buffers_[row]);
    if (!payload.empty()) galois::add_products({&kOnce, 1}, payload, {&to, 1});
    return true;
}

bool ParityRows::solve(const RowPool& pool, std::span<const std::uint16_t> missing, const Cut& packets,
                       std::span<std::byte> buffer) const noexcept {
    const std::size_t n = missing.size();
    if (n > sent_.count()) return false;
    std::array<std::size_t, kMostParityRows> rows;
    std::size_t found = 0;
    for (std::size_t row = 0; found < n; ++row) {
        if (sent_[row]) rows[found++] = row;
    }
    std::uint8_t matrix[kMostParityRows][kMostParityRows];
    for (std::size_t k = 0; k < n; ++k) {
        for (std::size_t j = 0; j < n; ++j) matrix[k][j] = galois::coefficient(rows[k], missing[j]);
    }
    if (!galois::invert(matrix, n)) return false;
    for (std::size_t j = 0; j < n; ++j) {
        const std::size_t idx = place_of(missing[j], packets);
        const std::size_t length = packets.length_of(idx);
        if (length == 0) continue;
        std::byte* const to = buffer.data() + idx * packets.payload;
        std::memset(to, 0, length);
        for (std::size_t k = 0; k < n; ++k)
            galois::add_products({&matrix[j][k], 1}, row(pool, rows[k], length), {&to, 1});
    }
    return true;
}

}  // namespace csaud
