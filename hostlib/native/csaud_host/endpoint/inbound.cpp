#include "csaud_host/endpoint/inbound.hpp"

namespace csaud {

void Inbound::on_other(const wire::Decoded& d, Nanos now) {
    if (end_.come()) return end_.on_packet(d, now);
    switch (d.csa.type) {
        case wire::Type::data:
            return on_data(d, now);
        case wire::Type::parity:
            return on_parity(d, now);
        case wire::Type::loss:
            return on_loss(d, now);
        default:
            return on_control(d, now);
    }
}

void Inbound::on_data(const wire::Decoded& d, Nanos now) {
    if (plausible_.data(d)) return receiver_.on_data(d, now);
    ++ctx_.stats.rx_bad_index;
}

void Inbound::on_parity(const wire::Decoded& d, Nanos now) {
    if (plausible_.parity(d)) return receiver_.on_parity(d, now);
    ++ctx_.stats.rx_bad_index;
}

void Inbound::on_loss(const wire::Decoded& d, Nanos now) {
    Stats& s = ctx_.stats;
    const bool ours = d.csa.name.src_rank == ctx_.config.rank;
    if (!plausible_.loss(d.csa) || (!ours && !ctx_.peers.known(d.csa.name.src_rank))) {
        ++s.rx_bad_index;
        return;
    }
    if (!ours) return receiver_.on_loss(d, now);
    // Bounced: addresses and queue pairs are swapped, so it seems to come from whom it was for.
    const auto dst = static_cast<std::uint16_t>(ctx_.peers.rank_at(d.route.src_ipv4, d.route.src_qpn));
    if (sender_.reports().judge_bounce(d, dst) != Reports::Verdict::fits) {
        ++s.rx_bad_loss;
        return;
    }
    if (!receiver_.first_notice({d.csa.name, dst, d.csa.pkt_idx, d.csa.attempt})) {
        ++s.rx_loss_repeats;
        return;
    }
    ++s.rx_loss_notices;
    ++s.rx_loss_bounced;
    sender_.on_bounce(d, dst, now);
}

Reports::Verdict Inbound::judge(const wire::Decoded& d, Nanos now) {
    using Verdict = Reports::Verdict;
    if (!plausible_.control(d)) return Verdict::bad_index;
    const wire::Reason reason = d.control.reason;
    switch (d.csa.type) {
        case wire::Type::ack:
        case wire::Type::state:
            return sender_.reports().judge(d);
        case wire::Type::probe:
        case wire::Type::probe_rsp: {
            const bool of_peer = reason == wire::Reason::ping || reason == wire::Reason::pong;
            const bool of_own = reason == wire::Reason::not_ready;
            return of_peer || of_own || receiver_.fits(d, now) ? Verdict::fits : Verdict::bad_index;
        }
        default:
            return Verdict::fits;
    }
}

Nanos Inbound::learn(const wire::Decoded& d, Peer& peer, Nanos now) {
    const wire::ControlPart& c = d.control;
    liveness_.heard(peer, now);
    const std::uint32_t now_ts = ctx_.ticks(now);
    const Nanos late = ctx_.nanos(peer.clock.sample(ctx_.ts_serial, now_ts, d.csa.tx_ts, now));
    if ((c.flags & wire::kEcho) != 0) {
        const std::int32_t trip = ctx_.ts_serial.distance(c.newest_tx_ts, now_ts);
        // Who answers later than a dead peer would is not slow: one of us was stopped, or somebody lies.
        if (trip >= 0 && ctx_.nanos(trip) <= ctx_.config.dead_after) {
            const bool first = !peer.rtt.measured();
            peer.rtt.sample(ctx_.nanos(trip), now);
            liveness_.measured(peer, now);
            ctx_.round_trips.sample(ctx_.nanos(trip), now);
            if (first) sender_.on_first_round_trip(peer, now);
        }
    }
    if (d.csa.type != wire::Type::abort) {
        bool room = peer.credit.update(ctx_.credit_serial, c.credit);
        if ((c.flags & wire::kWindow) != 0) {
            room |= peer.window.update(ctx_.window_serial, c.window);
            if (c.window.size > 1) peer.turns.end();
        }
        if (room) sender_.on_room(peer, now);
    }
    if ((d.csa.flags & wire::kEcnEcho) != 0) sender_.paths().marked(peer, c.echoed_path, c.ecn_count);
    return late;
}

void Inbound::on_control(const wire::Decoded& d, Nanos now) {
    Stats& s = ctx_.stats;
    if (const Reports::Verdict verdict = judge(d, now); verdict != Reports::Verdict::fits) {
        ++(verdict == Reports::Verdict::bad_index ? s.rx_bad_index : s.rx_bad_loss);
        return;
    }
    ++s.rx_control;
    Peer& peer = ctx_.peers.get(d.control.from_rank);
    const Nanos late = learn(d, peer, now);
    switch (d.csa.type) {
        case wire::Type::ack:
            ++s.rx_ack;
            return sender_.on_ack(d, now);
        case wire::Type::state:
            ++s.rx_state;
            return sender_.on_state(d, late, now);
        case wire::Type::credit:
            ++s.rx_credit;
            return;
        case wire::Type::probe:
            ++s.rx_probe;
            return d.control.reason == wire::Reason::ping ? on_probe(d) : receiver_.on_probe(d, now);
        case wire::Type::probe_rsp:
            ++s.rx_probe_rsp;
            return on_probe_rsp(d, peer, now);
        case wire::Type::abort:
            ++s.rx_abort;
            return end_.on_abort(d, peer, now);
        default:
            return;
    }
}

// A ping.
void Inbound::on_probe(const wire::Decoded& d) {
    if (!d.bitmap.empty())
        ctx_.notes_from[d.control.from_rank].assign(reinterpret_cast<const char*>(d.bitmap.data()),
                                                    d.bitmap.size());
    MessageName own;
    own.epoch = ctx_.config.epoch;
    own.src_rank = ctx_.config.rank;
    ControlItem item = control_item(wire::Type::probe_rsp, wire::Reason::pong, d.control.from_rank, own);
    item.flags = wire::kSeen | wire::kEcho;
    if ((d.control.flags & wire::kOfPath) != 0) {
        item.flags |= wire::kOfPath;
        item.path = d.csa.path_id;
    }
    item.newest_ts = d.csa.tx_ts;
    ctx_.control.push(item);
}

void Inbound::on_probe_rsp(const wire::Decoded& d, Peer& peer, Nanos now) {
    const wire::Reason reason = d.control.reason;
    if (reason == wire::Reason::pong) end_.on_pong(peer, d.control, now);
    if ((d.control.flags & wire::kOfPath) != 0) sender_.paths().answered(peer, d.control.echoed_path);
    if (reason == wire::Reason::not_ready) return sender_.on_not_ready(d, now);
    return receiver_.on_probe_rsp(d, now);
}

}  // namespace csaud
