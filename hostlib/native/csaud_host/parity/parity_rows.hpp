// Rows of parity over the last packets of one message: sums that packets are added to as they go or come, so
// that nothing is left to do when the last one has. A sender's are what it sends. A receiver adds what comes,
// and what it was sent: then they are sums of what is missing alone, and are solved for it.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>

#include "csaud_host/base/pool.hpp"
#include "csaud_host/messages/reassembly.hpp"
#include "csaud_host/parity/galois.hpp"
#include "csaud_host/parity/row_pool.hpp"

namespace csaud {

class ParityRows {
  public:
    // Rows 0 to rows - 1, as far as there are buffers, over the last `covered` packets.
    void open(RowPool& pool, std::size_t covered, std::size_t rows);
    void close(RowPool& pool);

    std::size_t covered() const noexcept { return covered_; }
    std::size_t rows() const noexcept { return rows_; }
    // Is the packet in this column (0: the last of its message) in the sums?
    bool has(std::size_t column) const noexcept { return added_[column]; }
    std::span<const std::byte> row(const RowPool& pool, std::size_t row, std::size_t bytes) const noexcept {
        return {pool.at(buffers_[row]), bytes};
    }

    // Adds a packet that is not in the sums.
    void add(const RowPool& pool, std::size_t column, std::span<const std::byte> payload) noexcept;

    // --- the receiver's
    // Adds a row as its sender sent it; false: it is here, or there is no room for it. `packets` are those of
    // the message, of which all that are in the sums lie in `buffer`.
    bool add_sent(RowPool& pool, std::size_t row, std::span<const std::byte> payload, const Cut& packets,
                  std::span<const std::byte> buffer);
    // How many rows were sent and have come.
    std::size_t sent() const noexcept { return sent_.count(); }
    // Writes what is missing, at most as many columns as rows have come, to its place in `buffer`. All other
    // packets are in the sums.
    bool solve(const RowPool& pool, std::span<const std::uint16_t> missing, const Cut& packets,
               std::span<std::byte> buffer) const noexcept;

  private:
    std::array<std::uint32_t, kMostParityRows> buffers_{};
    std::bitset<kMostParityCovered> added_;
    std::bitset<kMostParityRows> sent_;
    std::uint16_t covered_ = 0;
    std::uint8_t rows_ = 0;
};

}  // namespace csaud
