// How many rows of parity a message is worth (docs/protocol.md, "Parity").
#pragma once

#include <cstddef>

namespace csaud {

// The least number of rows that all losses but a share of `residue` of the messages stay within: `packets` of
// the message are at risk, `rate` of them lost, `burst` at once.
std::size_t parity_rows_for(double packets, double rate, double burst, double residue) noexcept;

}  // namespace csaud
