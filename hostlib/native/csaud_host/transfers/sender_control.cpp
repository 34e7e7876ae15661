// The sending half: what receivers report, and the probe.
#include <algorithm>

#include "csaud_host/loss/backoff.hpp"
#include "csaud_host/transfers/sender.hpp"

namespace csaud {
namespace {
// What a receiver has it keeps. STATEs that overtook each other contradict that for less than a round trip;
// so many in a row, a round trip apart, say that somebody else spoke in its name.
constexpr std::uint8_t kDisputes = 4;
}  // namespace

bool Sender::fits(const SendMessage& m, const wire::Decoded& d) const noexcept {
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

void Sender::merge(SendMessage& m, const wire::Decoded& d, Nanos now) {
    m.last_news = now;
    if (d.control.bitmap_bits == 0) return;
    Bitmap reported;
    reported.merge(d.bitmap, m.total);
    Peer& peer = ctx_.peers.get(m.dst);
    std::size_t fresh = 0;
    reported.for_each_beyond(m.arrived, [&](std::size_t idx) {
        ++fresh;
        m.arrived.set(idx);
        peer.paths.arrived(records_.at(m.records, idx).path);
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
void Sender::dispute(SendMessage& m, const Bitmap& reported, const Peer& peer, Nanos now) {
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

bool Sender::was_sent(const SendMessage& m, std::uint16_t idx, std::uint8_t attempt) noexcept {
    return idx < m.next && attempt <= records_.at(m.records, idx).attempt;
}

Sender::Verdict Sender::judge(const wire::Decoded& d) {
    const SendMessage* m = find(d.csa.name, d.control.from_rank);
    if (m == nullptr)
        return Verdict::fits;  // finished, or not begun: there is nothing that it could contradict
    if (d.csa.type == wire::Type::ack) {
        return d.csa.pkt_total == m->total && m->all_sent() ? Verdict::fits : Verdict::bad_index;
    }
    if (!fits(*m, d)) return Verdict::bad_index;
    const bool of_copy = d.control.reason == wire::Reason::loss;
    return of_copy && !was_sent(*m, d.csa.pkt_idx, d.csa.attempt) ? Verdict::bad_loss : Verdict::fits;
}

Sender::Verdict Sender::judge_bounce(const wire::Decoded& d, std::uint16_t dst) {
    const SendMessage* m = find(d.csa.name, dst);
    if (m == nullptr) return Verdict::fits;
    const bool sent = d.csa.pkt_total == m->total && was_sent(*m, d.csa.pkt_idx, d.csa.attempt);
    return sent ? Verdict::fits : Verdict::bad_loss;
}

void Sender::on_ack(const wire::Decoded& d, Nanos now) {
    std::uint32_t i = kNone;
    const SendMessage* m = find(d.csa.name, d.control.from_rank, &i);
    if (m == nullptr) return;  // a repeated ACK
    ++ctx_.stats.messages_sent;
    acknowledged_.add(sent_to(m->name, m->dst));
    finish(i, Status::ok, m->dst, now);
}

void Sender::on_state(const wire::Decoded& d, Nanos late, Nanos now) {
    std::uint32_t i = kNone;
    SendMessage* m = find(d.csa.name, d.control.from_rank, &i);
    Peer& peer = ctx_.peers.get(d.control.from_rank);
    if (m != nullptr) {
        merge(*m, d, now);
        if ((d.control.flags & wire::kAwaited) != 0) awaited(i, peer, now);
    }
    switch (d.control.reason) {
        case wire::Reason::loss:
            if (m != nullptr) resend_reported(i, d.csa.pkt_idx, d.csa.attempt, now);
            return;
        case wire::Reason::gap:
            if (ctx_.config.detectors.gap) resend_gap(peer, d, now);
            return;
        case wire::Reason::interval:
            if (m == nullptr || !ctx_.config.detectors.interval ||
                resend_missing(i, peer, d, late, now) == 0) {
                answer_interval(m, d);
            }
            return;
        default:
            if (m == nullptr || !ctx_.config.detectors.probe) return;
            if (resend_missing(i, peer, d, late, now) == 0) answered(*m);
    }
}

// A probe was answered, and there is nothing to do: the next ones need not hurry.
void Sender::answered(SendMessage& m) noexcept {
    m.probe_rounds = std::max<std::uint8_t>(m.probe_rounds, kLostInARow);
}

void Sender::on_not_ready(const wire::Decoded& d, Nanos now) {
    SendMessage* m = find(d.csa.name, d.control.from_rank);
    if (m == nullptr) return;
    m->last_news = now;  // the receiver is alive and not there yet
    answered(*m);
    // Whatever of it has come there was dropped. The window is for what comes after it.
    Peer& peer = ctx_.peers.get(m->dst);
    const auto out = static_cast<std::uint16_t>(m->next - m->arrived_count);
    peer.window.refused(std::uint32_t{out} - std::min(out, m->refused));
    m->refused = std::max(out, m->refused);
    make_ready(peer, now);
}

void Sender::under_way_again(SendMessage& m, Peer& peer) noexcept {
    peer.window.sent_again(m.refused);
    m.refused = 0;
}

void Sender::on_bounce(const wire::Decoded& d, std::uint16_t dst, Nanos now) {
    std::uint32_t i = kNone;
    if (find(d.csa.name, dst, &i) != nullptr) resend_reported(i, d.csa.pkt_idx, d.csa.attempt, now);
}

void Sender::all_arrived(const SendMessage& m, Peer& peer) {
    for (std::size_t idx = m.arrived.first_clear(0, m.total); idx < m.total;
         idx = m.arrived.first_clear(idx + 1, m.total)) {
        peer.paths.arrived(records_.at(m.records, idx).path);
    }
}

// A path is assumed bad: it is probed until it answers, while there is something to send.
void Sender::probe_paths(Peer& peer, Nanos now) {
    const Nanos period = std::max(8 * peer.rtt.patience(), ctx_.beat() / 16);
    ctx_.timers.arm_earlier(TimerKind::paths, peer.rank, now + period);
}

void Sender::on_paths_timer(std::uint16_t rank, Nanos now) {
    Peer* peer = ctx_.peers.find(rank);
    if (peer == nullptr || peer->waits == 0 || !peer->paths.any_bad()) return;
    liveness_.ping_path(*peer, peer->paths.next_bad());
    probe_paths(*peer, now);
}

void Sender::on_path_answer(Peer& peer, std::uint16_t path) {
    if (peer.paths.state(path) != PathState::assumed_bad) return;
    ++ctx_.stats.paths_recovered;
    peer.paths.answered(path);
}

void Sender::on_ecn(Peer& peer, std::uint16_t path, std::uint16_t count) {
    if (peer.ecn == nullptr) peer.ecn = std::make_unique<PeerEcn>();
    const std::uint16_t fresh = peer.ecn->to.heard(ctx_.ecn_serial, path, count, ctx_.config.paths);
    ctx_.stats.rx_ecn_echoes += fresh;
    ctx_.stats.tx_path_ecn[path] += fresh;
    if (fresh != 0) peer.paths.marked(path, fresh);
}

void Sender::queue(std::uint32_t i, std::uint16_t idx, Detector found_by, PathFeedback found, Nanos now) {
    const SendMessage& m = messages_[i];
    PacketRecord& r = records_.at(m.records, idx);
    if (r.queued) return;
    r.queued = true;
    Peer& peer = ctx_.peers.get(m.dst);
    if (peer.paths.lost(r.path, found)) {
        ++ctx_.stats.paths_assumed_bad;
        probe_paths(peer, now);
    }
    Retransmission again{.message = messages_.handle(i),
                         .pkt_idx = idx,
                         .found_by = found_by,
                         .cls = std::min(m.cls, kRepairClass),
                         .attempt = r.attempt,
                         .chain = m.chain,
                         .holes = static_cast<std::uint16_t>(m.next - m.arrived_count)};
    if (m.due != kNever) {
        again.latest = m.due - again.holes * ctx_.packet_time() - peer.rtt.smoothed();
    }
    rtx_.push(again);
}

void Sender::resend_reported(std::uint32_t i, std::uint16_t idx, std::uint8_t attempt, Nanos now) {
    const SendMessage& m = messages_[i];
    if (!ctx_.config.detectors.loss || m.arrived.test(idx)) return;
    // An older copy than the newest is past caring about: its successor is under way.
    if (attempt == records_.at(m.records, idx).attempt)
        queue(i, idx, Detector::loss, PathFeedback::nack, now);
}

void Sender::resend_gap(Peer& peer, const wire::Decoded& d, Nanos now) {
    const wire::ControlPart& c = d.control;
    for (const std::uint32_t i : peer.begun) {
        const SendMessage& m = messages_[i];
        for (std::uint16_t idx = 0; idx < m.next; ++idx) {
            const PacketRecord& r = records_.at(m.records, idx);
            if (r.path != c.echoed_path || m.arrived.test(idx)) continue;
            const std::int32_t at = ctx_.path_serial.distance(c.path_first, r.path_seq);
            if (at >= 0 && at < c.path_count) queue(i, idx, Detector::gap, PathFeedback::nack, now);
        }
    }
}

// Queues what the report shows to be lost; returns how many packets that were.
unsigned Sender::resend_missing(std::uint32_t i, const Peer& peer, const wire::Decoded& d, Nanos late,
                                Nanos now) {
    const SendMessage& m = messages_[i];
    const wire::ControlPart& c = d.control;
    const bool probed = c.reason == wire::Reason::probed;
    const Nanos patience = peer.rtt.patience();
    unsigned found = 0;
    for (std::size_t idx = m.arrived.first_clear(0, m.next); idx < m.next;
         idx = m.arrived.first_clear(idx + 1, m.next)) {
        const PacketRecord& r = records_.at(m.records, idx);
        bool lost;
        bool told = false;  // by the receiver, that something sent later has arrived
        if (probed) {
            // The PROBE may have overtaken what was sent shortly before it.
            lost = (c.flags & wire::kEcho) != 0 &&
                   ctx_.nanos(ctx_.ts_serial.distance(r.tx_ts, c.newest_tx_ts)) >=
                       patience - peer.rtt.base() / 2;
        } else {
            // RACK (RFC 8985): something sent later has arrived, and that long enough ago (the receiver
            // waited). A burst shares one tick of the clock; within it the order is that of the indices.
            const std::int32_t ahead = ctx_.ts_serial.distance(r.tx_ts, c.newest_tx_ts);
            told = (c.flags & wire::kSeen) != 0 && (ahead > 0 || (ahead == 0 && idx <= d.csa.pkt_idx));
            lost = told || age(r, now) > patience + late;
        }
        if (!lost) continue;
        ++found;
        queue(i, static_cast<std::uint16_t>(idx), probed ? Detector::probe : Detector::interval,
              told ? PathFeedback::nack : PathFeedback::timeout, now);
    }
    return found;
}

void Sender::answer_interval(const SendMessage* m, const wire::Decoded& d) {
    ControlItem item;
    item.type = wire::Type::probe_rsp;
    item.reason = m == nullptr || m->next == 0 ? wire::Reason::not_started : wire::Reason::sent;
    if (m == nullptr && acknowledged_.contains(sent_to(d.csa.name, d.control.from_rank)))
        item.reason = wire::Reason::gone;
    item.name = d.csa.name;
    item.pkt_total = d.csa.pkt_total;
    item.peer = d.control.from_rank;
    item.flags = wire::kEcho | wire::kSeen;
    item.newest_ts = d.csa.tx_ts;
    item.cumulative = m == nullptr ? 0 : m->next;
    ctx_.control.push(item);
}

// The receive is posted: what is left of the message needs no credit. Where others before it keep it from
// going, since all credit went to them and nothing of it is under way, their receives are not posted, and it
// goes before them.
void Sender::awaited(std::uint32_t i, Peer& peer, Nanos now) {
    SendMessage& m = messages_[i];
    if (!m.awaited) {
        m.awaited = true;
        m.probe_rounds = 0;
        if (m.next != 0) ask_at(i, peer, now);
    }
    if (m.all_sent() || peer.credit.may_send()) return;
    if (!first_pending(peer)->awaited && peer.window.idle()) peer.pending.push_front(messages_.handle(i));
    make_ready(peer, now);
}

// The receiver's own interval is shorter; the probe is for what that cannot see (a lost ACK, a lost only
// packet).
Nanos Sender::probe_wait(const Peer& peer, unsigned rounds) const noexcept {
    const Nanos wait = std::max(2 * peer.rtt.patience(), 4 * ctx_.config.timer_tick);
    return backed_off(wait, rounds, std::max(ctx_.longest_wait(), ctx_.config.timer_tick));
}

void Sender::on_timer(std::uint32_t i, Nanos now) {
    SendMessage& m = messages_[i];
    if (m.id == 0) return;
    if (now >= m.deadline) {
        finish(i, Status::timeout, m.dst, now);
        return;
    }
    Peer& peer = ctx_.peers.get(m.dst);
    // Packets that wait for our own link or turn are no reason to ask, and without credit one message asks
    // for all. Such a message needs no timer until a packet of it goes, or its turn to ask comes.
    const SendMessage* first = first_pending(peer);
    const bool ours = !m.all_sent() && may_send(peer);
    const bool behind = m.next == 0 && first != &m;
    if (ours || behind) {
        if (ours) make_ready(peer, now);
        ctx_.timers.arm_earlier(TimerKind::send, i, m.deadline);
        return;
    }
    Nanos due = m.last_news + probe_wait(peer, m.probe_rounds);
    if (now >= due) {
        ControlItem item;
        item.type = wire::Type::probe;
        item.name = m.name;
        item.pkt_total = m.total;
        item.peer = m.dst;
        item.cumulative = m.next;
        ctx_.control.push(item);
        if (m.probe_rounds < 32) ++m.probe_rounds;
        m.last_news = now;
        due = now + probe_wait(peer, m.probe_rounds);
    }
    ctx_.timers.arm(TimerKind::send, i, std::min(due, m.deadline));
}

void Sender::ask_at(std::uint32_t i, const Peer& peer, Nanos now) {
    ctx_.timers.arm_earlier(TimerKind::send, i, now + probe_wait(peer, 0));
}

}  // namespace csaud
