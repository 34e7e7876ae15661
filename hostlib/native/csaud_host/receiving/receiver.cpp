#include "csaud_host/receiving/receiver.hpp"

#include <algorithm>
#include <stdexcept>

#include "csaud_host/parity/demand.hpp"

namespace csaud {
namespace {
// A receive that is posted so long after its first packet came is late.
constexpr Nanos kLatePost = kMillisecond;

// A sender that keeps asking for a message of another number of packets than the one posted, and of which
// nothing fits, or keeps sending a packet of another size, or says again and again that we acknowledged what
// we did not, will never be satisfied: after so many PROBEs, DATA copies or answers the receive ends with
// Status::protocol.
constexpr std::uint8_t kContradictions = 8;
}  // namespace

std::uint64_t Receiver::post(const MessageName& name, std::uint16_t src, std::span<std::byte> buffer,
                             const Hints& hints, Nanos now) {
    const std::uint32_t found = receives_.find(name);
    if (found != kNone ? receives_[found].posted : receives_.finished(name)) {
        throw std::invalid_argument("post_recv: a message of this name was posted before");
    }
    Peer& peer = ctx_.peers.get(src);
    const std::size_t packets = Cut{ctx_.payload_bytes, buffer.size()}.packets();
    const std::uint32_t i =
        found != kNone ? found : receives_.open(name, packets, now, intervals_.first_wait(peer, hints, now));
    Receive& m = receives_[i];
    receives_.post(m, peer, buffer, hints, now);
    if (!receives_.early_fits(m)) {
        disown_early(m, peer);
    } else if (const std::uint32_t taken = receives_.take_early(m, peer); taken != 0) {
        allowance_.consumed(peer, taken);
        allowance_.tell_if_due(peer, 0);
    }
    const std::uint64_t id = m.id;
    if (m.reassembly.complete()) {
        // Its sender has asked ever more seldom meanwhile, and would not ask again for as long if this ACK
        // were lost: two go, by two paths.
        const bool late = now - m.started > kLatePost;
        complete(i, peer, 0, now);
        if (late) acknowledge(name, packets, peer, 0);
    } else {
        intervals_.arm(i, m, peer);
    }
    return id;
}

// As if it had come after the post.
void Receiver::disown_early(Receive& m, Peer& peer) {
    const std::size_t bad = m.reassembly.received();
    ctx_.stats.rx_bad_index += bad;
    ctx_.stats.rx_data -= bad;
    peer.arrivals.arrived(-static_cast<std::int32_t>(bad));
    receives_.drop_early(m, peer);
    m.missing = 0;
    m.reassembly.reset(m.cut(ctx_.payload_bytes).packets());
}

void Receiver::on_data(const wire::Decoded& d, Nanos now) {
    const wire::CsaHeader& h = d.csa;
    Peer& peer = ctx_.peers.get(h.name.src_rank);
    const std::uint32_t found = receives_.find(h.name);
    Receive* known = found != kNone ? &receives_[found] : nullptr;
    if (known != nullptr && !belongs(d, found, *known, now)) return;
    ++ctx_.stats.rx_data;
    learn(d, peer, now);
    if (known == nullptr && receives_.finished(h.name)) return duplicate(h, nullptr, peer);
    if (known != nullptr && known->reassembly.has(h.pkt_idx)) return duplicate(h, known, peer);
    const std::uint32_t i =
        known != nullptr ? found : receives_.open(h.name, h.pkt_total, now, ctx_.longest_wait());
    Receive& m = receives_[i];
    if (!place(d, i, m, peer)) return;
    if (h.attempt != 0) replaced(m, peer, h.pkt_idx, now);
    const bool first = !m.begun;
    if (first) receives_.begin(m, peer, now);
    judge_order(h, m, peer, now);
    m.reassembly.mark(h.pkt_idx);
    peer.latest = &m;
    peer.arrivals.arrived(1);
    allowance_.share(m, peer);
    if (m.posted) {
        allowance_.consumed(peer, 1);
        parity_.arrived(m, peer, h.pkt_idx);
        if (m.parity != kNone && !m.reassembly.complete()) repair(m, peer, now);
    }
    allowance_.tell_if_due(peer, h.tx_ts);
    if ((h.flags & wire::kAckReq) != 0) allowance_.tell(peer);
    if (m.reassembly.complete()) {
        if (m.posted) complete(i, peer, h.tx_ts, now);
        return;
    }
    liveness_.measure(peer, now);
    const bool holes = m.reassembly.first_missing() < m.reassembly.high();
    receives_.note_arrival(m, now, m.reassembly.high(), holes, h.tx_ts);
    // In order, what is armed only moves later: it is left to fire, and armed anew then.
    if (first || holes) intervals_.arm(i, m, peer);
}

void Receiver::on_parity(const wire::Decoded& d, Nanos now) {
    const wire::CsaHeader& h = d.csa;
    const std::uint32_t found = receives_.find(h.name);
    Peer& peer = ctx_.peers.get(h.name.src_rank);
    // What is not posted nobody waits for, and it may be found by then.
    const bool wanted = found != kNone && receives_[found].posted;
    if (wanted && !parity_.came(d, receives_[found])) {
        ++ctx_.stats.rx_bad_index;
        return;
    }
    ++ctx_.stats.rx_parity;
    learn(d, peer, now);
    peer.parity_rows = std::max(peer.parity_rows, static_cast<std::uint8_t>(h.pkt_idx + 1));
    peer.without_parity = 0;
    if (!wanted) return;
    Receive& m = receives_[found];
    if (!m.begun) receives_.begin(m, peer, now);
    repair(m, peer, now);
    allowance_.tell_if_due(peer, h.tx_ts);
    if (m.reassembly.complete()) return complete(found, peer, h.tx_ts, now);
    receives_.note_parity(m, now, h.tx_ts);
    intervals_.arm(found, m, peer);
}

void Receiver::repair(Receive& m, Peer& peer, Nanos now) {
    const std::span<const std::uint16_t> given = parity_.solve(m);
    if (given.empty()) return;
    for (const std::uint16_t idx : given) {
        replaced(m, peer, idx, now);
        m.reassembly.mark(idx);
    }
    const auto packets = static_cast<std::uint32_t>(given.size());
    ctx_.stats.rx_by_parity += packets;
    peer.arrivals.arrived(static_cast<std::int32_t>(packets));
    allowance_.consumed(peer, packets);
    ctx_.loss_memory.repaired();
}

void Receiver::disbelieve(std::uint32_t index, bool same_total, Nanos now) {
    ++ctx_.stats.rx_bad_index;
    if (same_total) contradicted(index, now);
}

bool Receiver::keep_early(const wire::Decoded& d, std::uint32_t i, Receive& m, Peer& peer) {
    const wire::CsaHeader& h = d.csa;
    // No sender may be further ahead than it was granted, whoever sends in its name.
    if (Allowance::early(peer) && receives_.keep_early(m, peer, h.pkt_idx, d.payload)) {
        ++ctx_.stats.rx_early;
        return true;
    }
    ++ctx_.stats.rx_early_dropped;
    if (h.attempt == 0) not_silent(&m, peer);  // it came, and will be sent again
    if (m.early == kNone) close(i, peer, false);
    ctx_.control.push(
        control_item(wire::Type::probe_rsp, wire::Reason::not_ready, peer.rank, h.name, h.pkt_total));
    return false;
}

void Receiver::sent_again(const wire::CsaHeader& h, const Peer& peer) {
    // What a switch told of the interval did not have to find.
    const auto before = static_cast<std::uint8_t>(h.attempt - 1);
    const bool told = ctx_.config.detectors.loss && losses_.told({h.name, peer.rank, h.pkt_idx, before});
    if (!told) ctx_.loss_memory.repaired();
}

void Receiver::overtaken(const wire::CsaHeader& h, const Receive& m, Peer& peer, Nanos now) {
    const Nanos behind = m.detector.lateness(now, h.pkt_idx);
    if (behind < 0) return;
    ++ctx_.stats.rx_reordered;
    const bool common = peer.reorder.filled(behind, h.path_id, ctx_.config.paths);
    if (!common && behind > beyond_queues(peer)) ctx_.loss_memory.repaired();
}

void Receiver::duplicate(const wire::CsaHeader& h, Receive* m, Peer& peer) {
    ++ctx_.stats.rx_duplicates;
    if (h.attempt == 0) not_silent(m, peer);  // it was only late
    // A retransmission of a finished message: its sender may have lost our ACK.
    if (m == nullptr && (h.flags & wire::kRtx) != 0) {
        ctx_.control.push(control_item(wire::Type::ack, wire::Reason::done, peer.rank, h.name, h.pkt_total));
    }
}

void Receiver::complete(std::uint32_t i, Peer& peer, std::uint32_t echo_ts, Nanos now) {
    const Receive& m = receives_[i];
    if (const auto gaps = static_cast<Nanos>(m.reassembly.total()) - 1; gaps > 0) {
        // The first time without what was guessed.
        peer.mean_gap =
            peer.mean_gap != 0 ? m.detector.mean_gap() : std::max<Nanos>((now - m.started) / gaps, 1);
    }
    receives_.complete(m);
    for (unsigned copies = acknowledgements(peer); copies > 0; --copies)
        acknowledge(m.name, m.reassembly.total(), peer, echo_ts);
    receives_.end(m, Status::ok, peer.rank, now);
    close(i, peer, true);
}

void Receiver::close(std::uint32_t i, Peer& peer, bool complete) {
    peer.lost.ended(receives_[i].missing);
    parity_.close(receives_[i], peer, complete);
    receives_.close(i, peer);
}

// What is lost silently on the way there may be ACKs: a sender finds that out no sooner than by its probe.
unsigned Receiver::acknowledgements(const Peer& peer) const noexcept {
    if (!ctx_.config.parity) return 1;
    // It waits for as many as there are ranks, at the end of an all-to-all at once.
    return copies_for(peer.silent.rate(ctx_.silent), repair_share(ctx_.config.world) / ctx_.config.world);
}

void Receiver::acknowledge(const MessageName& name, std::size_t total, const Peer& peer,
                           std::uint32_t echo_ts) {
    ControlItem ack =
        control_item(wire::Type::ack, wire::Reason::none, peer.rank, name, static_cast<std::uint16_t>(total));
    if (echo_ts != 0) {
        ack.flags = wire::kEcho | wire::kSeen;
        ack.newest_ts = echo_ts;
    }
    ctx_.control.push(ack);
}

void Receiver::give_up(std::uint32_t i, Status status, Nanos now) {
    const Receive& m = receives_[i];
    const std::uint16_t source = m.name.src_rank;
    receives_.end(m, status, source, now);
    close(i, ctx_.peers.get(source), false);
}

void Receiver::contradicted(std::uint32_t i, Nanos now) {
    if (++receives_[i].contradictions == kContradictions) give_up(i, Status::protocol, now);
}

void Receiver::fail_all(Status status, std::uint16_t rank, Nanos now) {
    receives_.for_each([&](std::uint32_t i) {
        const Receive& m = receives_[i];
        if (m.posted) receives_.end(m, status, rank, now);
        close(i, ctx_.peers.get(m.name.src_rank), false);
    });
    losses_.clear();
}

Receiver::View Receiver::view(const MessageName& name) const noexcept {
    const std::uint32_t found = receives_.find(name);
    if (found != kNone) return {&receives_[found].reassembly, false, receives_[found].posted};
    return {nullptr, receives_.finished(name), false};
}

void Receiver::on_loss(const wire::Decoded& d, Nanos now) {
    const wire::CsaHeader& h = d.csa;
    const std::uint32_t found = receives_.find(h.name);
    if (found != kNone && receives_[found].reassembly.total() != h.pkt_total) {
        ++ctx_.stats.rx_bad_index;
        return;
    }
    const std::uint16_t src = h.name.src_rank;
    const CopyName copy{h.name, src, h.pkt_idx, h.attempt};
    if (!losses_.first_notice(copy)) {
        ++ctx_.stats.rx_loss_repeats;
        return;
    }
    ++ctx_.stats.rx_loss_notices;
    ++ctx_.stats.rx_loss_trimmed;
    Peer& peer = ctx_.peers.get(src);
    peer.rx_paths[h.path_id].on_loss(ctx_.path_serial, h.path_seq);
    if (h.attempt == 0) not_silent(found != kNone ? &receives_[found] : nullptr, peer);
    allowance_.cut(peer);
    if (ctx_.config.detectors.loss) losses_.lost(copy, h.pkt_total, peer, now);
}

bool Receiver::fits(const wire::Decoded& d, Nanos now) {
    const wire::CsaHeader& h = d.csa;
    const std::uint32_t found = receives_.find(h.name);
    if (found == kNone || receives_[found].reassembly.total() == h.pkt_total) return true;
    const Receive& m = receives_[found];
    if (h.type == wire::Type::probe && m.posted && m.reassembly.received() == 0) contradicted(found, now);
    return false;
}

void Receiver::on_probe(const wire::Decoded& d, Nanos now) {
    const wire::CsaHeader& h = d.csa;
    ControlItem item =
        control_item(wire::Type::state, wire::Reason::probed, d.control.from_rank, h.name, h.pkt_total);
    const std::uint32_t found = receives_.find(h.name);
    if (found == kNone) {
        const bool done = receives_.finished(h.name);
        item.type = done ? wire::Type::ack : wire::Type::probe_rsp;
        item.reason = done ? wire::Reason::done : wire::Reason::not_ready;
    }
    // What a switch reported and we hold back is not to be resent for the probe's sake.
    const bool held = found != kNone && losses_.noticed(receives_[found], now);
    item.flags = held ? 0 : wire::kEcho | wire::kSeen;
    item.newest_ts = h.tx_ts;
    ctx_.control.push(item);
}

void Receiver::on_probe_rsp(const wire::Decoded& d, Nanos now) {
    const std::uint32_t found = receives_.find(d.csa.name);
    if (found == kNone) return;
    Receive& m = receives_[found];
    if (d.control.reason == wire::Reason::gone && m.posted) return contradicted(found, now);
    if (d.control.reason == wire::Reason::not_started) return m.detector.not_started();
    if (d.control.reason != wire::Reason::sent) return;
    Peer& peer = ctx_.peers.get(d.csa.name.src_rank);
    intervals_.sender_says(found, m, peer, d.control.cumulative, d.csa.tx_ts, now);
}

void Receiver::on_timer(std::uint32_t i, Nanos now, bool late) {
    Receive& m = receives_[i];
    if (!m.live) return;
    intervals_.on_timer(i, m, ctx_.peers.get(m.name.src_rank), now, losses_.noticed(m, now), late);
}

}  // namespace csaud
