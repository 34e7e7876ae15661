#include "csaud_host/receiving/receives.hpp"

#include <algorithm>

namespace csaud {

Receives::Receives(Context& c, Liveness& l)
    : ctx_(c),
      liveness_(l),
      by_name_(NameOf{&all_}),
      finished_(c.config.finished_memory),
      early_(c.config.early_pool_packets, c.payload_bytes) {}

bool Receives::has(const MessageName& name, std::uint16_t pkt_idx) const noexcept {
    const std::uint32_t found = find(name);
    return found != kNone ? all_[found].reassembly.has(pkt_idx) : finished(name);
}

std::uint32_t Receives::open(const MessageName& name, std::size_t total, Nanos now, Nanos first_wait) {
    const std::uint32_t i = all_.take();
    Receive& m = all_[i];
    m = Receive{};
    m.name = name;
    m.live = true;
    m.reassembly.reset(total);
    m.detector.reset(now, gap_of(ctx_.peers.get(name.src_rank)), first_wait);
    by_name_.add(i);
    return i;
}

Nanos Receives::gap_of(const Peer& peer) const noexcept {
    if (peer.mean_gap != 0) return peer.mean_gap;
    // Of a peer's first message nothing is known. Its packets may come slowly, others' in between: who asks
    // early takes them for lost.
    const RttEstimator& known = ctx_.round_trips.measured() ? ctx_.round_trips : peer.rtt;
    const Nanos own = peer.rtt.measured() ? peer.rtt.patience() : 0;
    return std::max(ctx_.packet_time(), std::max(known.patience(), own) / 3);
}

void Receives::post(Receive& m, Peer& peer, std::span<std::byte> buffer, const Hints& hints, Nanos now) {
    m.id = ctx_.next_id++;
    m.posted = true;
    m.fan_in = hints.fan_in;
    m.scheduled = hints.scheduled;
    if (peer.awaited++ == 0) ++ctx_.awaited;
    if (!m.begun) m.started = now;
    m.buffer = buffer;
    ++posted_;
    liveness_.wait(peer, now);
}

void Receives::begin(Receive& m, Peer& peer, Nanos now) {
    m.begun = true;
    const Nanos waited = now - m.started;
    m.started = now;
    m.detector.expect_gap(gap_of(peer));  // more is known than when it was posted
    if (peer.incoming++ == 0) ++ctx_.senders;
    if (!m.posted) return;
    const Nanos error = waited - peer.first_wait_mean;
    peer.first_wait_mean += error / 8;
    peer.first_wait_dev += ((error < 0 ? -error : error) - peer.first_wait_dev) / 4;
}

void Receives::end(const Receive& m, Status status, std::uint16_t rank, Nanos now) {
    ctx_.completions.push({.id = m.id,
                           .kind = CompletionKind::recv,
                           .status = status,
                           .rank = rank,
                           .bytes = m.buffer.size(),
                           .started_ns = m.started,
                           .finished_ns = now,
                           .name = m.name});
}

void Receives::complete(const Receive& m) {
    ++ctx_.stats.messages_received;
    ctx_.loss_memory.completed(static_cast<std::uint32_t>(m.reassembly.total()));
    finished_.add(m.name);
}

void Receives::close(std::uint32_t i, Peer& peer) {
    Receive& m = all_[i];
    drop_early(m, peer);
    ctx_.timers.cancel(TimerKind::recv, i);
    by_name_.erase(i);
    m.detector.close(arrivals_);
    if (m.begun && --peer.incoming == 0) --ctx_.senders;
    if (m.posted) {
        liveness_.release(peer);
        --posted_;
        if (--peer.awaited == 0) --ctx_.awaited;
    }
    m.live = m.begun = false;
    all_.release(i);
}

bool Receives::keep_early(Receive& m, Peer& peer, std::uint16_t idx, std::span<const std::byte> payload) {
    const std::uint32_t head = early_.store(m.early, idx, payload);
    if (head == kNone) return false;
    m.early = head;
    ++peer.early;
    return true;
}

bool Receives::early_fits(const Receive& m) const noexcept {
    const Cut cut = m.cut(ctx_.payload_bytes);
    bool fits = m.reassembly.total() == cut.packets();
    for (std::uint32_t s = m.early; s != kNone && fits; s = early_.slot(s).next) {
        fits = early_.slot(s).length == cut.length_of(early_.slot(s).idx);
    }
    return fits;
}

std::uint32_t Receives::take_early(Receive& m, Peer& peer) {
    const Cut cut = m.cut(ctx_.payload_bytes);
    std::uint32_t taken = 0;
    while (m.early != kNone) {
        m.reassembly.place(cut, m.buffer, early_.slot(m.early).idx, early_.payload(m.early));
        m.early = early_.release(m.early);
        --peer.early;
        ++taken;
    }
    return taken;
}

void Receives::drop_early(Receive& m, Peer& peer) {
    while (m.early != kNone) {
        m.early = early_.release(m.early);
        --peer.early;
    }
}

void Receives::list(std::vector<PendingMessage>& out) const {
    for (std::uint32_t i = 0; i < all_.capacity(); ++i) {
        const Receive& m = all_[i];
        if (!m.live) continue;
        out.push_back({.id = m.id,
                       .name = m.name,
                       .kind = CompletionKind::recv,
                       .posted = m.posted,
                       .peer = m.name.src_rank,
                       .bytes = m.buffer.size(),
                       .arrived = static_cast<std::uint16_t>(m.reassembly.received()),
                       .packets = static_cast<std::uint16_t>(m.reassembly.total())});
    }
}

void Receives::report(MemoryUse& use) const noexcept {
    use.receives = all_.bytes() + by_name_.bytes();
    use.arrivals = arrivals_.bytes();
    use.early = early_.bytes_taken();
    use.finished += finished_.bytes();
}

}  // namespace csaud
