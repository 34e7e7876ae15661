#include "csaud_host/sending/reports.hpp"

namespace csaud {
namespace {
// What a receiver has it keeps. STATEs that overtook each other contradict that for less than a round trip;
// so many in a row, a round trip apart, say that somebody else spoke in its name.
constexpr std::uint8_t kDisputes = 4;
}  // namespace

bool Reports::fits(const SendMessage& m, const wire::Decoded& d) const noexcept {
    if (d.csa.pkt_total != m.total || d.control.cumulative > m.next) return false;
    if (d.control.bitmap_bits == 0) return true;
    if (d.control.bitmap_bits != m.total) return false;
    Bitmap claimed;
    claimed.merge(d.bitmap, m.total);
    for (std::size_t i = m.next; i < m.total; ++i) {
        if (claimed.test(i)) return false;  // nothing arrives that was not sent
    }
    return true;
}

bool Reports::was_sent(const SendMessage& m, std::uint16_t idx, std::uint8_t attempt) noexcept {
    return idx < m.next && attempt <= sends_.record(m, idx).attempt;
}

Reports::Verdict Reports::judge(const wire::Decoded& d) {
    const std::uint32_t found = sends_.find(d.csa.name, d.control.from_rank);
    // Finished, or not begun: there is nothing that it could contradict.
    if (found == kNone) return Verdict::fits;
    const SendMessage& m = sends_[found];
    if (d.csa.type == wire::Type::ack) {
        return d.csa.pkt_total == m.total && m.all_sent() ? Verdict::fits : Verdict::bad_index;
    }
    if (!fits(m, d)) return Verdict::bad_index;
    const bool of_copy = d.control.reason == wire::Reason::loss;
    return of_copy && !was_sent(m, d.csa.pkt_idx, d.csa.attempt) ? Verdict::bad_loss : Verdict::fits;
}

Reports::Verdict Reports::judge_bounce(const wire::Decoded& d, std::uint16_t dst) {
    const std::uint32_t found = sends_.find(d.csa.name, dst);
    if (found == kNone) return Verdict::fits;
    const SendMessage& m = sends_[found];
    const bool sent = d.csa.pkt_total == m.total && was_sent(m, d.csa.pkt_idx, d.csa.attempt);
    return sent ? Verdict::fits : Verdict::bad_loss;
}

void Reports::merge(SendMessage& m, const wire::Decoded& d, Nanos now) {
    m.last_news = now;
    if (d.control.bitmap_bits == 0) return;
    Bitmap reported;
    reported.merge(d.bitmap, m.total);
    Peer& peer = ctx_.peers.get(m.dst);
    std::size_t fresh = 0;
    reported.for_each_beyond(m.arrived, [&](std::size_t idx) {
        ++fresh;
        m.arrived.set(idx);
        const PacketRecord& r = sends_.record(m, idx);
        peer.paths.arrived(r.path, r.attempt);
    });
    m.arrived_count = static_cast<std::uint16_t>(m.arrived_count + fresh);
    if (fresh != 0) m.probe_rounds = 0;
    if (const int more = m.refused - (m.next - m.arrived_count); more > 0) {
        peer.window.sent_again(static_cast<std::uint32_t>(more));
        m.refused = static_cast<std::uint16_t>(m.refused - more);
    }
    dispute(m, reported, peer, now);
}

// The receiver may lack what it seemed to have: then that goes again.
void Reports::dispute(SendMessage& m, const Bitmap& reported, const Peer& peer, Nanos now) {
    bool lacking = false;
    m.arrived.for_each_beyond(reported, [&](std::size_t) { lacking = true; });
    if (!lacking) {
        m.disputes = 0;
        return;
    }
    const std::uint32_t now_ts = ctx_.ticks(now);
    const Nanos since = ctx_.nanos(ctx_.ts_serial.distance(m.disputed_ts, now_ts));
    if (m.disputes != 0 && since >= 0 && since < peer.rtt.patience()) return;
    m.disputed_ts = now_ts;
    if (++m.disputes < kDisputes) return;
    m.disputes = 0;
    m.arrived = reported;
    m.arrived_count = static_cast<std::uint16_t>(reported.count());
}

}  // namespace csaud
