#include "csaud_host/transfers/receiver.hpp"

#include <algorithm>
#include <stdexcept>

namespace csaud {
namespace {
// A receive that is posted so long after its first packet came is late.
constexpr Nanos kLatePost = kMillisecond;
}  // namespace

Receiver::Receiver(Context& c, Liveness& l)
    : ctx_(c),
      liveness_(l),
      by_name_(NameOf{&messages_}),
      finished_(c.config.finished_memory),
      early_(c.config.early_pool_packets, c.payload_bytes) {}

std::uint32_t Receiver::open(const MessageName& name, std::size_t total, Nanos now, Nanos first_wait) {
    const std::uint32_t i = messages_.take();
    Message& m = messages_[i];
    m = Message{};
    m.name = name;
    m.live = true;
    m.reassembly.reset(total);
    const Peer& peer = ctx_.peers.get(name.src_rank);
    // Of a peer's first message nothing is known. Its packets may come slowly, others' in between: who asks
    // early takes them for lost.
    const Nanos guess = std::max(ctx_.packet_time(), peer.rtt.patience() / 3);
    m.detector.reset(now, peer.mean_gap != 0 ? peer.mean_gap : guess, first_wait);
    by_name_.add(i);
    return i;
}

void Receiver::close(std::uint32_t i, Peer& peer) {
    Message& m = messages_[i];
    drop_early(m, peer);
    ctx_.timers.cancel(TimerKind::recv, i);
    by_name_.erase(i);
    m.detector.close(arrivals_);
    if (m.begun && --peer.incoming == 0) --ctx_.senders;
    if (m.posted) {
        steps_.closed(m.name);
        liveness_.release(peer);
        --posted_;
        if (--peer.awaited == 0) --ctx_.awaited;
    }
    m.live = false;
    messages_.release(i);
}

std::uint64_t Receiver::post(const MessageName& name, std::uint16_t src, std::span<std::byte> buffer,
                             const Hints& hints, Nanos now) {
    const Cut cut{ctx_.payload_bytes, buffer.size()};
    const std::uint32_t found = by_name_.find(name);
    if (found != kNone ? messages_[found].posted : finished_.contains(name)) {
        throw std::invalid_argument("post_recv: a message of this name was posted before");
    }
    Peer& peer = ctx_.peers.get(src);
    const Nanos wait = first_wait(peer, hints, now);
    const std::uint32_t i = found != kNone ? found : open(name, cut.packets(), now, wait);
    Message& m = messages_[i];
    m.id = ctx_.next_id++;
    m.posted = true;
    m.fan_in = hints.fan_in;
    if (peer.awaited++ == 0) ++ctx_.awaited;
    if (!m.begun) m.started = now;
    m.deadline = hints.deadline;
    m.buffer = buffer;
    ++posted_;
    steps_.posted(name, static_cast<std::uint32_t>(cut.packets()));
    liveness_.wait(peer, now);
    take_early(m, peer);
    const std::uint64_t id = m.id;
    if (m.reassembly.complete()) {
        // Its sender has asked ever more seldom meanwhile, and would not ask again for as long if this ACK
        // were lost: two go, by two paths.
        const bool late = now - m.started > kLatePost;
        const std::size_t total = m.reassembly.total();
        complete(i, peer, 0, now);
        if (late) acknowledge(name, total, peer, 0);
    } else {
        arm(i, m, peer);
    }
    return id;
}

void Receiver::take_early(Message& m, Peer& peer) {
    const Cut cut = cut_of(m);
    bool fits = m.reassembly.total() == cut.packets();
    for (std::uint32_t s = m.early; s != kNone && fits; s = early_.slot(s).next) {
        fits = early_.slot(s).length == cut.length_of(early_.slot(s).idx);
    }
    if (!fits) {
        // Another message's size under this name: as if it had come after the post.
        const std::size_t bad = m.reassembly.received();
        ctx_.stats.rx_bad_index += bad;
        ctx_.stats.rx_data -= bad;
        peer.arrivals.arrived(-static_cast<std::int32_t>(bad));
        drop_early(m, peer);
        m.reassembly.reset(cut.packets());
        return;
    }
    std::uint32_t taken = 0;
    while (m.early != kNone) {
        m.reassembly.place(cut, m.buffer, early_.slot(m.early).idx, early_.payload(m.early));
        m.early = early_.release(m.early);
        --peer.early;
        ++taken;
    }
    if (taken == 0) return;
    steps_.arrived(m.name, taken);
    consumed(peer, taken);
    tell_if_due(peer, 0);
}

void Receiver::drop_early(Message& m, Peer& peer) {
    while (m.early != kNone) {
        m.early = early_.release(m.early);
        --peer.early;
    }
}

void Receiver::consumed(Peer& peer, std::uint32_t packets) {
    peer.grant.consumed(packets, ctx_.config.window, ctx_.credit_budget);
}

// Where the schedule says how many send to us at full rate, those of them that we still wait for; otherwise
// those that are sending.
void Receiver::share_window(const Message& m, Peer& peer) noexcept {
    if (!ctx_.config.shaping) return;
    const std::uint32_t senders =
        m.fan_in != 0 ? std::min<std::uint32_t>(m.fan_in, ctx_.awaited) : ctx_.senders;
    peer.arrivals.set_share(window_share(ctx_.config, senders));
}

void Receiver::tell_if_due(Peer& peer, std::uint32_t echo_ts) {
    peer.echo_ts = echo_ts;
    if (peer.grant.worth_telling() || peer.arrivals.worth_telling()) tell_credit(peer);
}

void Receiver::tell_credit(Peer& peer) {
    if (peer.credit_queued) return;
    peer.credit_queued = true;
    ctx_.control.push(answer(wire::Type::credit, wire::Reason::none, {}, 0, peer.rank));
}

void Receiver::begin(Message& m, Peer& peer, Nanos now) {
    m.begun = true;
    const Nanos waited = now - m.started;
    m.started = now;
    if (peer.incoming++ == 0) ++ctx_.senders;
    if (!m.posted) return;
    const Nanos error = waited - peer.first_wait_mean;
    peer.first_wait_mean += error / 8;
    peer.first_wait_dev += ((error < 0 ? -error : error) - peer.first_wait_dev) / 4;
}

Nanos Receiver::first_wait(const Peer& peer, const Hints& hints, Nanos now) const noexcept {
    const Nanos expected = hints.expected_start != 0 ? hints.expected_start + 4 * hints.jitter - now
                                                     : peer.first_wait_mean + 4 * peer.first_wait_dev;
    const Nanos least = std::max({2 * peer.rtt.base(), peer.rtt.patience(), ctx_.config.timer_tick});
    return std::clamp(expected, least, std::max(least, ctx_.longest_wait()));
}

IntervalTerms Receiver::terms(const Message& m, const Peer& peer) const noexcept {
    IntervalTerms t;
    const IntervalSwitches& on = ctx_.config.interval_terms;
    t.fixed = ctx_.config.fixed_interval;
    t.rtt_base = peer.rtt.base();
    t.rtt_smoothed = peer.rtt.smoothed();
    t.rtt_patience = peer.rtt.patience();
    t.delta = on.reorder ? peer.reorder.delta() : 0;
    t.sigma = on.reorder ? peer.reorder.sigma(t.rtt_base) : ReorderEstimator().sigma(t.rtt_base);
    t.hurry = on.hurry && steps_.lossy();
    t.barrier = on.barrier && t.hurry && m.posted ? steps_.fraction(m.name) : 0;
    t.t_min = std::max(ctx_.config.timer_tick, 2 * ctx_.packet_time());
    t.queue_max = ctx_.config.queue_max;
    t.queueing = peer.queueing.allowance();
    t.longest_wait = ctx_.longest_wait();
    return t;
}

void Receiver::arm(std::uint32_t i, Message& m, Peer& peer) {
    Nanos due = m.posted ? m.deadline : kNever;
    if (ctx_.config.detectors.interval && !m.reassembly.complete()) {
        const IntervalTerms t = terms(m, peer);
        m.detector.set_spacing(m.detector.interval(t) / 4);
        due = std::min(due, m.detector.deadline(ctx_.ts_serial, m.reassembly, t));
    }
    if (due != kNever) ctx_.timers.arm_earlier(TimerKind::recv, i, due);
}

bool Receiver::sane_source(const wire::Decoded& d) noexcept {
    return ctx_.peers.known(d.csa.name.src_rank) && d.csa.path_id < ctx_.config.paths &&
           d.csa.pkt_total >= 1 && d.csa.pkt_total <= kMaxPackets && d.csa.pkt_idx < d.csa.pkt_total;
}

void Receiver::on_data(const wire::Decoded& d, Nanos now) {
    const wire::CsaHeader& h = d.csa;
    if (!sane_source(d) || !plausible_cut(ctx_.payload_bytes, h.pkt_idx, h.pkt_total, d.payload.size())) {
        ++ctx_.stats.rx_bad_index;
        return;
    }
    const std::uint32_t found = by_name_.find(h.name);
    if (found != kNone) {
        Message& m = messages_[found];
        const bool same_total = m.reassembly.total() == h.pkt_total;
        if (!same_total || (m.posted && cut_of(m).length_of(h.pkt_idx) != d.payload.size())) {
            ++ctx_.stats.rx_bad_index;
            if (same_total) contradicted(found, now);
            return;
        }
    }
    Peer& peer = ctx_.peers.get(h.name.src_rank);
    liveness_.heard(peer, now);
    ++ctx_.stats.rx_data;
    const Nanos late = ctx_.nanos(peer.clock.sample(ctx_.ts_serial, ctx_.ticks(now), h.tx_ts, now));
    peer.queueing.sample(late);
    const bool marked = d.route.ecn() == wire::kCongestionExperienced;
    if (ctx_.config.shaping) peer.arrivals.sample(marked, late, queueing_target(peer), ctx_.config.window);
    if (marked) {
        ++ctx_.stats.rx_ecn;
        ++ctx_.stats.rx_path_ecn[h.path_id];
        if (peer.ecn == nullptr) peer.ecn = std::make_unique<PeerEcn>();
        peer.ecn->from.marked(h.path_id, ctx_.config.paths);
    }
    track_path(d, peer);
    if (pacer_.data_arrived()) release_notice(now);
    if (found == kNone && finished_.contains(h.name)) return duplicate(d, peer, true);
    if (found != kNone && messages_[found].reassembly.has(h.pkt_idx)) return duplicate(d, peer, false);
    const std::uint32_t i = found != kNone ? found : open(h.name, h.pkt_total, now, ctx_.longest_wait());
    Message& m = messages_[i];
    if (!m.posted) {
        // No sender may be further ahead than it was granted, whoever sends in its name.
        const bool granted = peer.early < peer.grant.open();
        const std::uint32_t head = granted ? early_.store(m.early, h.pkt_idx, d.payload) : kNone;
        if (head == kNone) {
            ++ctx_.stats.rx_early_dropped;
            if (m.early == kNone) close(i, peer);
            ctx_.control.push(
                answer(wire::Type::probe_rsp, wire::Reason::not_ready, h.name, h.pkt_total, peer.rank));
            return;
        }
        m.early = head;
        ++peer.early;
        ++ctx_.stats.rx_early;
    } else {
        m.reassembly.place(cut_of(m), m.buffer, h.pkt_idx, d.payload);
    }
    const bool first = !m.begun;
    if (first) begin(m, peer, now);
    peer.reorder.arrived(now, peer.rtt.base());
    if (h.attempt == 0) {
        const Nanos behind = m.detector.lateness(now, h.pkt_idx);
        if (behind >= 0 && h.pkt_idx + 1U < m.reassembly.high()) {
            ++ctx_.stats.rx_reordered;
            const bool common = peer.reorder.filled(behind, h.path_id, ctx_.config.paths);
            if (!common && behind > peer.rtt.base()) steps_.repaired();
        }
    } else {
        steps_.repaired();
    }
    m.reassembly.mark(h.pkt_idx);
    peer.arrivals.arrived(1);
    share_window(m, peer);
    if (m.posted) {
        steps_.arrived(m.name, 1);
        consumed(peer, 1);
    }
    tell_if_due(peer, h.tx_ts);
    if ((h.flags & wire::kAckReq) != 0) tell_credit(peer);
    if (m.reassembly.complete()) {
        if (m.posted) complete(i, peer, h.tx_ts, now);
        return;
    }
    liveness_.measure(peer, now);
    m.detector.arrived(ctx_.ts_serial, arrivals_, now, m.reassembly, h.tx_ts);
    // In order, what is armed only moves later: it is left to fire, and armed anew then.
    if (first || m.reassembly.first_missing() < m.reassembly.high()) arm(i, m, peer);
}

void Receiver::duplicate(const wire::Decoded& d, const Peer& peer, bool finished) {
    ++ctx_.stats.rx_duplicates;
    // A retransmission of a finished message: its sender may have lost our ACK.
    if (finished && (d.csa.flags & wire::kRtx) != 0) {
        ctx_.control.push(
            answer(wire::Type::ack, wire::Reason::done, d.csa.name, d.csa.pkt_total, peer.rank));
    }
}

void Receiver::track_path(const wire::Decoded& d, Peer& peer) {
    const wire::CsaHeader& h = d.csa;
    const PathGap gap = peer.rx_paths[h.path_id].on_data(ctx_.path_serial, h.path_seq, h.ordered);
    if (gap.count == 0 || !ctx_.config.detectors.gap) return;
    ControlItem item = answer(wire::Type::state, wire::Reason::gap, h.name, h.pkt_total, peer.rank);
    item.path = h.path_id;
    item.path_first = gap.first;
    item.path_count = gap.count;
    ctx_.control.push(item);
}

void Receiver::complete(std::uint32_t i, Peer& peer, std::uint32_t echo_ts, Nanos now) {
    Message& m = messages_[i];
    ++ctx_.stats.messages_received;
    if (const auto gaps = static_cast<Nanos>(m.reassembly.total()) - 1; gaps > 0) {
        // The first time without what was guessed.
        peer.mean_gap =
            peer.mean_gap != 0 ? m.detector.mean_gap() : std::max<Nanos>((now - m.started) / gaps, 1);
    }
    steps_.completed(static_cast<std::uint32_t>(m.reassembly.total()));
    finished_.add(m.name);
    acknowledge(m.name, m.reassembly.total(), peer, echo_ts);
    finish(m, Status::ok, peer.rank, now);
    close(i, peer);
}

void Receiver::acknowledge(const MessageName& name, std::size_t total, const Peer& peer,
                           std::uint32_t echo_ts) {
    ControlItem ack =
        answer(wire::Type::ack, wire::Reason::none, name, static_cast<std::uint16_t>(total), peer.rank);
    if (echo_ts != 0) {
        ack.flags = wire::kEcho | wire::kSeen;
        ack.newest_ts = echo_ts;
    }
    ctx_.control.push(ack);
}

void Receiver::finish(Message& m, Status status, std::uint16_t rank, Nanos now) {
    ctx_.completions.push({.id = m.id,
                           .kind = CompletionKind::recv,
                           .status = status,
                           .rank = rank,
                           .bytes = m.buffer.size(),
                           .started_ns = m.started,
                           .finished_ns = now,
                           .name = m.name});
}

void Receiver::fail_all(Status status, std::uint16_t rank, Nanos now) {
    for (std::uint32_t i = 0; i < messages_.capacity(); ++i) {
        Message& m = messages_[i];
        if (!m.live) continue;
        if (m.posted) finish(m, status, rank, now);
        close(i, ctx_.peers.get(m.name.src_rank));
    }
    pacer_.clear();
}

}  // namespace csaud
