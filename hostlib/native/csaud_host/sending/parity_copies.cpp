#include "csaud_host/sending/parity_copies.hpp"

#include <algorithm>

#include "csaud_host/parity/demand.hpp"

namespace csaud {

std::size_t ParityCopies::rows_for(const SendMessage& m, const Peer& peer,
                                   std::size_t covered) const noexcept {
    if (ctx_.config.parity_rows != 0) return ctx_.config.parity_rows;
    // Where others send, or may, who has nothing to send still takes room from them.
    if (!m.alone) return 0;
    double at_risk = static_cast<double>(covered);
    if (peer.send_gap > 0) {
        // What is lost earlier is found and sent again before the last packet has come.
        const Nanos found = peer.rtt.patience() + peer.rtt.base();
        at_risk = std::min(at_risk, static_cast<double>(found) / static_cast<double>(peer.send_gap) + 1);
    }
    return parity_rows_for(at_risk, peer.silent.rate(ctx_.silent), ctx_.silent.burst(),
                           repair_share(ctx_.config.world));
}

void ParityCopies::begin(SendMessage& m, const Peer& peer) {
    if (!ctx_.config.parity || m.buffer.empty()) return;
    const std::size_t covered = std::min<std::size_t>(m.total, kMostParityCovered);
    const std::size_t rows = rows_for(m, peer, covered);
    if (rows == 0) return;
    m.parity = all_.take();
    all_[m.parity].next = 0;
    all_[m.parity].rows.open(buffers_, covered, rows);
}

void ParityCopies::sent(std::uint32_t i, std::uint16_t idx, Peer& peer, Nanos now) {
    const SendMessage& m = sends_[i];
    if (m.all_sent() && m.total > 1) {
        const Nanos took = ctx_.nanos(ctx_.ts_serial.distance(sends_.record(m, 0).tx_ts, ctx_.ticks(now)));
        const Nanos gap = std::max<Nanos>(took / (m.total - 1), 1);
        peer.send_gap = peer.send_gap == 0 ? gap : peer.send_gap + (gap - peer.send_gap) / 4;
    }
    if (m.parity == kNone) return;
    ParityRows& rows = all_[m.parity].rows;
    const std::size_t column = m.total - 1U - idx;
    if (column < rows.covered()) rows.add(buffers_, column, m.payload(idx, ctx_.payload_bytes));
    if (m.all_sent() && rows.rows() > 0) (m.chained ? of_chains_ : others_).push(sends_.handle(i));
}

void ParityCopies::over(SendMessage& m) {
    if (m.parity == kNone) return;
    retired_.push({m.id, m.parity});
    m.parity = kNone;
}

void ParityCopies::taken(std::uint64_t id) {
    if (retired_.empty() || retired_.front().message != id) return;
    const std::uint32_t rows = retired_.pop().rows;
    all_[rows].rows.close(buffers_);
    all_.release(rows);
}

bool ParityCopies::next(RingQueue<Handle>& queue, Copy& copy, Nanos now) {
    while (!queue.empty()) {
        const Handle handle = queue.pop();
        const SendMessage* m = sends_.find(handle);
        if (m == nullptr || m->arrived_count == m->total) continue;
        Peer& peer = ctx_.peers.get(m->dst);
        Outgoing& out = all_[m->parity];
        const std::uint8_t row = out.next++;
        if (out.next < out.rows.rows()) queue.push(handle);
        PacketRecord record;
        record.path = peer.paths.next_control();
        record.tx_ts = ctx_.ticks(now);
        record.path_seq = peer.tx_seq[record.path];
        peer.tx_seq[record.path] = static_cast<std::uint16_t>(ctx_.path_serial.wrap(record.path_seq + 1ULL));
        ++ctx_.stats.tx_parity;
        const std::size_t covered = out.rows.covered();
        const Cut cut{ctx_.payload_bytes, m->buffer.size()};
        copy = {.message = m,
                .pkt_idx = row,
                .record = record,
                .cls = m->cls,
                .covered = static_cast<std::uint8_t>(covered),
                .parity = out.rows.row(buffers_, row, cut.length_of(m->total - covered))};
        return true;
    }
    return false;
}

}  // namespace csaud
