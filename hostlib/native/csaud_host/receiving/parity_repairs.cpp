#include "csaud_host/receiving/parity_repairs.hpp"

#include <algorithm>

namespace csaud {
namespace {
// So many messages without parity, and it is not expected any more.
constexpr std::uint8_t kForgotten = 64;
}  // namespace

void ParityRepairs::open(Receive& m, std::size_t covered, std::size_t rows) {
    if (m.parity == kNone) {
        m.parity = all_.take();
    } else {
        all_[m.parity].close(buffers_);
    }
    all_[m.parity].open(buffers_, covered, rows);
    const std::size_t total = m.reassembly.total();
    for (std::size_t idx = total - covered; idx < total; ++idx) {
        if (m.reassembly.has(idx)) add(m, idx);
    }
}

bool ParityRepairs::expect(Receive& m, const Peer& peer) {
    open(m, std::min(m.reassembly.total(), kMostParityCovered), peer.parity_rows);
    return true;
}

void ParityRepairs::add(Receive& m, std::size_t idx) {
    ParityRows& rows = all_[m.parity];
    const std::size_t column = m.reassembly.total() - 1 - idx;
    if (column >= rows.covered() || rows.has(column)) return;
    const Cut cut = m.cut(ctx_.payload_bytes);
    rows.add(buffers_, column, m.buffer.subspan(idx * cut.payload, cut.length_of(idx)));
}

bool ParityRepairs::came(const wire::Decoded& d, Receive& m) {
    const std::size_t covered = d.csa.attempt;
    const Cut cut = m.cut(ctx_.payload_bytes);
    if (m.reassembly.total() != d.csa.pkt_total ||
        cut.length_of(m.reassembly.total() - covered) != d.payload.size()) {
        return false;
    }
    // All rows of a message are over the same packets: to begin anew takes a sum over all that have come.
    const bool begun = m.parity != kNone && all_[m.parity].sent() > 0;
    if (begun && all_[m.parity].covered() != covered) return false;
    if (m.parity == kNone || all_[m.parity].covered() != covered) open(m, covered, d.csa.pkt_idx + 1U);
    all_[m.parity].add_sent(buffers_, d.csa.pkt_idx, d.payload, cut, m.buffer);
    return true;
}

std::span<const std::uint16_t> ParityRepairs::solve(Receive& m) {
    ParityRows& rows = all_[m.parity];
    const std::size_t total = m.reassembly.total(), first = total - rows.covered();
    std::array<std::uint16_t, kMostParityRows> columns;
    std::size_t n = 0;
    for (std::size_t idx = m.reassembly.next_missing(first, total); idx < total;
         idx = m.reassembly.next_missing(idx + 1, total)) {
        if (n == rows.sent()) return {};
        columns[n] = static_cast<std::uint16_t>(total - 1 - idx);
        found_[n++] = static_cast<std::uint16_t>(idx);
    }
    const Cut cut = m.cut(ctx_.payload_bytes);
    if (n == 0 || !rows.solve(buffers_, std::span(columns).first(n), cut, m.buffer)) return {};
    for (std::size_t k = 0; k < n; ++k) add(m, found_[k]);
    return std::span(found_).first(n);
}

void ParityRepairs::close(Receive& m, Peer& peer, bool complete) {
    if (complete && peer.parity_rows != 0 && ++peer.without_parity == kForgotten) peer.parity_rows = 0;
    if (m.parity == kNone) return;
    all_[m.parity].close(buffers_);
    all_.release(m.parity);
    m.parity = kNone;
}

}  // namespace csaud
