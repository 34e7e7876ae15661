// How much redundancy is worth its packets: rows of parity, copies of an ACK (docs/protocol.md, "Parity").
#pragma once

#include <cstddef>
#include <cstdint>

namespace csaud {

// The least number of rows that all losses but a share of `residue` of the messages stay within: `packets` of
// the message are at risk, `rate` of them lost, `burst` at once.
std::size_t parity_rows_for(double packets, double rate, double burst, double residue) noexcept;

// The least number of copies, 4 at most, that are all lost of a share of `residue` alone.
unsigned copies_for(double rate, double residue) noexcept;

// Share of the messages of a job of so many ranks that may be left to be repaired the long way.
constexpr double repair_share(std::uint16_t world) noexcept {
    return 0.01 / world;
}

}  // namespace csaud
