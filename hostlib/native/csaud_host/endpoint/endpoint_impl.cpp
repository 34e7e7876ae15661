#include "csaud_host/endpoint/endpoint_impl.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace csaud {

EndpointImpl::EndpointImpl(const EndpointConfig& c)
    : ctx(c),
      liveness(ctx),
      receiver(ctx, liveness),
      sender(ctx, liveness),
      transmitter(ctx, sender, receiver),
      aborting(ctx, liveness),
      expect_{c.local.qpn, c.qkey, c.roce_port, c.loss_port, c.verify_icrc, c.auth.bytes()} {}

void EndpointImpl::check_post(const MessageName& name, const char* what, std::uint16_t peer,
                              std::uint16_t src, std::size_t bytes) const {
    const auto fail = [&](const std::string& why) {
        throw std::invalid_argument(std::string(what) + ": " + why);
    };
    if (!ctx.peers.known(peer)) fail("rank " + std::to_string(peer) + " has no address");
    if (name.src_rank != src) fail("the name's src_rank is not the message's source");
    if (name.epoch != ctx.config.epoch) fail("the name is of another epoch");
    const std::size_t most = ctx.payload_bytes * kMaxPackets;
    if (bytes > most) fail(std::to_string(bytes) + " bytes, a message holds at most " + std::to_string(most));
}

std::uint64_t EndpointImpl::refused(const MessageName& name, CompletionKind kind, std::size_t bytes,
                                    Nanos now) {
    const std::uint64_t id = ctx.next_id++;
    ctx.completions.push({.id = id,
                          .kind = kind,
                          .status = aborting.status(),
                          .rank = aborting.rank(),
                          .bytes = bytes,
                          .started_ns = now,
                          .finished_ns = now,
                          .name = name});
    return id;
}

std::uint64_t EndpointImpl::post_send(const MessageName& name, std::uint16_t dst,
                                      std::span<const std::byte> buffer, const Hints& hints, Nanos now) {
    check_post(name, "post_send", dst, ctx.config.rank, buffer.size());
    if (aborting.active()) return refused(name, CompletionKind::send, buffer.size(), now);
    expect_rest(now);
    return sender.post(name, dst, buffer, hints, now);
}

std::uint64_t EndpointImpl::post_recv(const MessageName& name, std::uint16_t src, std::span<std::byte> buffer,
                                      const Hints& hints, Nanos now) {
    check_post(name, "post_recv", src, src, buffer.size());
    if (aborting.active()) return refused(name, CompletionKind::recv, buffer.size(), now);
    expect_rest(now);
    return receiver.post(name, src, buffer, hints, now);
}

void EndpointImpl::count(wire::Fault fault) noexcept {
    switch (fault) {
        case wire::Fault::none:
            break;
        case wire::Fault::length:
            ++ctx.stats.rx_bad_length;
            break;
        case wire::Fault::icrc:
            ++ctx.stats.rx_bad_icrc;
            break;
        case wire::Fault::magic:
            ++ctx.stats.rx_bad_magic;
            break;
        case wire::Fault::qkey:
            ++ctx.stats.rx_bad_qkey;
            break;
        case wire::Fault::qpn:
            ++ctx.stats.rx_bad_qpn;
            break;
    }
}

// Does a packet come from where the rank that it names is? A switch that cuts DATA leaves the sender's
// address and queue pair, one that sends it back swaps them with the receiver's, whom the packet does not
// name: so it may come from any peer. Ranks that cannot be are counted where they are used.
bool EndpointImpl::from_its_rank(const wire::Decoded& d) const noexcept {
    const PeerTable::Address source{d.route.src_ipv4, d.route.src_qpn};
    const bool control = wire::has_control_part(d.csa.type);
    const std::uint16_t rank = control ? d.control.from_rank : d.csa.name.src_rank;
    if (d.csa.type == wire::Type::loss && rank == ctx.config.rank)
        return ctx.peers.rank_at(source.ipv4, source.qpn) >= 0;
    return !ctx.peers.known(rank) || ctx.peers.address(rank) == source;
}

// Was it made by a rank of the job? What a switch has cut cannot show it any more.
bool EndpointImpl::authentic(const wire::Decoded& d) const noexcept {
    if (d.csa.type == wire::Type::loss) return true;
    const LocalAddress& own = ctx.config.local;
    const auto tag = tag_of(ctx.config.auth, {d.route.src_ipv4, own.ipv4, d.route.src_qpn, own.qpn},
                            d.headers, d.payload.size());
    std::byte differs{0};  // all bytes are compared, so that the time taken tells nothing
    for (std::size_t i = 0; i < tag.size(); ++i) differs |= tag[i] ^ d.tag[i];
    return differs == std::byte{0};
}

void EndpointImpl::on_packet(std::span<const std::byte> packet, Nanos now) {
    wire::Decoded d;
    const wire::Fault fault = wire::decode(packet, expect_, d);
    if (fault != wire::Fault::none) return count(fault);
    if (d.csa.name.epoch != ctx.config.epoch) {
        ++ctx.stats.rx_stale_epoch;
        return;
    }
    if (!from_its_rank(d)) {
        ++ctx.stats.rx_bad_source;
        return;
    }
    if (ctx.config.auth.on() && !authentic(d)) {
        ++ctx.stats.rx_bad_auth;
        return;
    }
    ctx.stats.rx_bytes += packet.size();
    last_packet_ = now;
    expect_rest(now);
    if (aborting.active()) return after_abort(d, now);
    switch (d.csa.type) {
        case wire::Type::data:
            return receiver.on_data(d, now);
        case wire::Type::loss:
            return on_loss(d, now);
        default:
            return on_control(d, now);
    }
}

void EndpointImpl::on_loss(const wire::Decoded& d, Nanos now) {
    if (d.csa.name.src_rank != ctx.config.rank) return receiver.on_loss(d, now);
    // Bounced: addresses and queue pairs are swapped, so it seems to come from whom it was for.
    const std::int32_t dst = ctx.peers.rank_at(d.route.src_ipv4, d.route.src_qpn);
    if (d.csa.path_id >= ctx.config.paths || d.csa.pkt_total > kMaxPackets ||
        d.csa.pkt_idx >= d.csa.pkt_total) {
        ++ctx.stats.rx_bad_index;
        return;
    }
    const auto peer = static_cast<std::uint16_t>(dst);
    if (sender.judge_bounce(d, peer) != Sender::Verdict::fits) {
        ++ctx.stats.rx_bad_loss;
        return;
    }
    if (!receiver.first_notice({d.csa.name, peer, d.csa.pkt_idx, d.csa.attempt})) {
        ++ctx.stats.rx_loss_repeats;
        return;
    }
    ++ctx.stats.rx_loss_notices;
    ++ctx.stats.rx_loss_bounced;
    sender.on_bounce(d, peer, now);
}

// Ranks, indices and credit that cannot be, whatever the state of the message.
bool EndpointImpl::sane_control(const wire::Decoded& d) const noexcept {
    const std::uint16_t from = d.control.from_rank;
    const std::uint16_t src = d.csa.name.src_rank;
    const std::uint16_t self = ctx.config.rank;
    const wire::Reason reason = d.control.reason;
    if (!ctx.peers.known(from) || d.csa.path_id >= ctx.config.paths) return false;
    const bool of_message = d.csa.pkt_total >= 1 && d.csa.pkt_total <= kMaxPackets &&
                            d.csa.pkt_idx < d.csa.pkt_total && d.control.cumulative <= d.csa.pkt_total &&
                            (d.control.bitmap_bits == 0 || d.control.bitmap_bits == d.csa.pkt_total);
    const bool may_note = wire::may_have_note(d.csa.type, reason);
    if (d.csa.type != wire::Type::state && !may_note && d.control.bitmap_bits != 0) return false;
    const bool of_path = (d.csa.flags & wire::kEcnEcho) != 0 || (d.control.flags & wire::kOfPath) != 0;
    if (of_path && d.control.echoed_path >= ctx.config.paths) return false;
    if (d.csa.type != wire::Type::abort) {
        if (!ctx.peers.credit(from).plausible(ctx.credit_serial, d.control.credit, ctx.config.window))
            return false;
    }
    switch (d.csa.type) {
        case wire::Type::ack:
            return src == self && of_message;
        case wire::Type::state:
            return src == self && of_message && reason >= wire::Reason::loss &&
                   reason <= wire::Reason::probed;
        case wire::Type::credit:
            return true;
        case wire::Type::probe:
            return src == from && (reason == wire::Reason::ping || of_message);
        case wire::Type::probe_rsp:
            if (reason == wire::Reason::pong) return true;
            return of_message && (reason == wire::Reason::not_ready ? src == self : src == from);
        case wire::Type::abort:
            return src < ctx.config.world &&
                   (reason == wire::Reason::peer_dead || reason == wire::Reason::user_abort);
        default:
            return true;  // reserved types are counted and otherwise ignored
    }
}

// True where nothing contradicts; otherwise the packet is counted as bad and must change nothing.
bool EndpointImpl::accept_control(const wire::Decoded& d, Nanos now) {
    Sender::Verdict verdict = sane_control(d) ? Sender::Verdict::fits : Sender::Verdict::bad_index;
    if (verdict == Sender::Verdict::fits) {
        const wire::Reason reason = d.control.reason;
        switch (d.csa.type) {
            case wire::Type::ack:
            case wire::Type::state:
                verdict = sender.judge(d);
                break;
            case wire::Type::probe:
            case wire::Type::probe_rsp: {
                const bool of_peer = reason == wire::Reason::ping || reason == wire::Reason::pong;
                const bool of_own = reason == wire::Reason::not_ready;
                if (!of_peer && !of_own && !receiver.fits(d, now)) verdict = Sender::Verdict::bad_index;
                break;
            }
            default:
                break;
        }
    }
    if (verdict == Sender::Verdict::bad_index) ++ctx.stats.rx_bad_index;
    if (verdict == Sender::Verdict::bad_loss) ++ctx.stats.rx_bad_loss;
    return verdict == Sender::Verdict::fits;
}

void EndpointImpl::on_control(const wire::Decoded& d, Nanos now) {
    if (!accept_control(d, now)) return;
    ++ctx.stats.rx_control;
    Peer& peer = ctx.peers.get(d.control.from_rank);
    liveness.heard(peer, now);
    const std::uint32_t now_ts = ctx.ticks(now);
    const Nanos late = ctx.nanos(peer.clock.sample(ctx.ts_serial, now_ts, d.csa.tx_ts, now));
    if ((d.control.flags & wire::kEcho) != 0) {
        const std::int32_t trip = ctx.ts_serial.distance(d.control.newest_tx_ts, now_ts);
        // Who answers later than a dead peer would is not slow: one of us was stopped, or somebody lies.
        if (trip >= 0 && ctx.nanos(trip) <= ctx.config.dead_after) peer.rtt.sample(ctx.nanos(trip), now);
    }
    if (d.csa.type != wire::Type::abort) {
        bool room = peer.credit.update(ctx.credit_serial, d.control.credit);
        if ((d.control.flags & wire::kWindow) != 0) {
            room |= peer.window.update(ctx.window_serial, {d.control.path_count, d.control.path_first});
            if (d.control.path_first > 1) peer.turns.end();
        }
        if (room) sender.on_room(peer, now);
    }
    if ((d.csa.flags & wire::kEcnEcho) != 0) sender.on_ecn(peer, d.control.echoed_path, d.control.ecn_count);
    switch (d.csa.type) {
        case wire::Type::ack:
            ++ctx.stats.rx_ack;
            return sender.on_ack(d, now);
        case wire::Type::state:
            ++ctx.stats.rx_state;
            return sender.on_state(d, late, now);
        case wire::Type::credit:
            ++ctx.stats.rx_credit;
            return;
        case wire::Type::probe:
            ++ctx.stats.rx_probe;
            return on_probe(d, now);
        case wire::Type::probe_rsp:
            ++ctx.stats.rx_probe_rsp;
            if (d.control.reason == wire::Reason::pong) aborting.alive(peer, d.control, now);
            if ((d.control.flags & wire::kOfPath) != 0) sender.on_path_answer(peer, d.control.echoed_path);
            if (d.control.reason == wire::Reason::not_ready) return sender.on_not_ready(d, now);
            return receiver.on_probe_rsp(d, now);
        case wire::Type::abort:
            ++ctx.stats.rx_abort;
            return on_abort(d, peer, now);
        default:
            return;
    }
}

void EndpointImpl::on_probe(const wire::Decoded& d, Nanos) {
    if (d.control.reason != wire::Reason::ping) return receiver.on_probe(d);
    if (!d.bitmap.empty())
        ctx.notes_from[d.control.from_rank].assign(reinterpret_cast<const char*>(d.bitmap.data()),
                                                   d.bitmap.size());
    ControlItem item;
    item.type = wire::Type::probe_rsp;
    item.reason = wire::Reason::pong;
    item.name.epoch = ctx.config.epoch;
    item.name.src_rank = ctx.config.rank;
    item.peer = d.control.from_rank;
    item.flags = wire::kSeen | wire::kEcho;
    if ((d.control.flags & wire::kOfPath) != 0) {
        item.flags |= wire::kOfPath;
        item.path = d.csa.path_id;
    }
    item.newest_ts = d.csa.tx_ts;
    ctx.control.push(item);
}

void EndpointImpl::on_abort(const wire::Decoded& d, Peer& peer, Nanos now) {
    if (!aborting.believes(peer, d.control, now)) return;
    const bool dead = d.control.reason == wire::Reason::peer_dead;
    ctx.abort_note.assign(reinterpret_cast<const char*>(d.bitmap.data()), d.bitmap.size());
    fail(dead ? Status::peer_unreachable : Status::aborted, d.csa.name.src_rank, false, now);
}

void EndpointImpl::after_abort(const wire::Decoded& d, Nanos now) {
    if (d.csa.type == wire::Type::loss) {
        ++ctx.stats.rx_loss_repeats;  // of whatever: it does nothing any more
        return;
    }
    const bool data = d.csa.type == wire::Type::data;
    const std::uint16_t from = data ? d.csa.name.src_rank : d.control.from_rank;
    if (!ctx.peers.known(from)) {
        ++ctx.stats.rx_bad_index;
        return;
    }
    if (data) {
        ++ctx.stats.rx_data;
        ++ctx.stats.rx_early_dropped;
    } else {
        ++ctx.stats.rx_control;
    }
    if (d.csa.type == wire::Type::abort) {
        ++ctx.stats.rx_abort;
        return;
    }
    aborting.reply(ctx.peers.get(from), d.csa.tx_ts, now);
}

void EndpointImpl::fail(Status status, std::uint16_t rank, bool flood, Nanos now) {
    if (aborting.active()) return;
    ctx.control.clear();
    sender.fail_all(status, rank, now);
    receiver.fail_all(status, rank, now);
    aborting.enter(status, rank, flood, now);
}

// Looks for idle peers now and then, as long as any are active.
void EndpointImpl::expect_rest(Nanos now) {
    if (resting_ || ctx.peers.active() == 0) return;
    resting_ = true;
    ctx.timers.arm(TimerKind::rest, 0, now + ctx.config.peer_rest);
}

void EndpointImpl::on_timer(Nanos now) {
    const Nanos promised = ctx.timers.next();
    if (promised > now) return;
    // Called much later than asked for, our own process was stopped, and what it missed lies unread or just
    // came in.
    const Nanos lateness = now - promised;
    const bool late = lateness > ctx.config.stall_tolerance;
    if (late) ++ctx.stats.stalls;
    if (lateness > ctx.beat() / 2) liveness.stalled(now);
    while (ctx.timers.next() <= now) {
        const Timer t = ctx.timers.pop();
        switch (t.kind) {
            case TimerKind::recv:
                receiver.on_timer(t.index, now, late);
                break;
            case TimerKind::send:
                sender.on_timer(t.index, now);
                break;
            case TimerKind::notices:
                receiver.on_notices_timer(now);
                break;
            case TimerKind::abort:
                aborting.on_timer(t.index, now);
                break;
            case TimerKind::paths:
                sender.on_paths_timer(static_cast<std::uint16_t>(t.index), now);
                break;
            case TimerKind::turn:
                sender.on_turn(static_cast<std::uint16_t>(t.index), now);
                break;
            case TimerKind::rest:
                ctx.peers.rest(ctx.path_serial, now - ctx.config.peer_rest);
                resting_ = false;
                expect_rest(now);
                break;
            case TimerKind::peer:
                if (Peer* p = ctx.peers.find(static_cast<std::uint16_t>(t.index)); p != nullptr) {
                    if (liveness.on_timer(*p, now)) fail(Status::peer_unreachable, p->rank, true, now);
                }
        }
    }
}

Nanos EndpointImpl::next_deadline() const noexcept {
    return std::min(ctx.timers.next(), transmitter.deadline());
}

bool EndpointImpl::next_completion(Completion& c) {
    if (ctx.completions.empty()) return false;
    c = ctx.completions.pop();
    return true;
}

bool EndpointImpl::quiescent(Nanos now) const {
    return receiver.unfinished() == 0 && sender.unfinished() == 0 && ctx.control.empty() &&
           aborting.settled() && (last_packet_ == 0 || now - last_packet_ >= ctx.config.linger);
}

}  // namespace csaud
