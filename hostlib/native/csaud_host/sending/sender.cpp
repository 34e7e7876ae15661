#include "csaud_host/sending/sender.hpp"

#include <algorithm>
#include <stdexcept>

namespace csaud {

std::uint64_t Sender::post(const MessageName& name, std::uint16_t dst, std::span<const std::byte> buffer,
                           const Hints& hints, Nanos now) {
    if (sends_.find(name, dst) != kNone) {
        throw std::invalid_argument("post_send: a message of this name is under way to this rank");
    }
    if (sends_.acknowledged(name, dst)) {
        throw std::invalid_argument("post_send: a message of this name was sent to this rank before");
    }
    Peer& peer = ctx_.peers.get(dst);
    const std::uint32_t i = sends_.open(name, dst, buffer, hints, now);
    first_.add(i, peer, hints, now);
    liveness_.wait(peer, now);
    paths_.resume(peer, now);
    return sends_[i].id;
}

void Sender::finish(std::uint32_t i, Status status, std::uint16_t rank, Nanos now) {
    SendMessage& m = sends_[i];
    Peer& peer = ctx_.peers.get(m.dst);
    parity_.over(m);
    if (!m.all_sent()) first_.leave(i, peer);
    if (status == Status::ok && m.records != kNone) paths_.all_arrived(m, peer);
    sends_.close(i, peer, status, rank, now);
    if (status == Status::ok) first_.consider(peer, now);
}

void Sender::fail_all(Status status, std::uint16_t rank, Nanos now) {
    sends_.for_each([&](std::uint32_t i) { ctx_.peers.get(sends_[i].dst).pending.clear(); });
    sends_.for_each([&](std::uint32_t i) { finish(i, status, rank, now); });
    repairs_.clear();
    first_.clear();
    parity_.clear();
}

void Sender::on_turn(std::uint16_t rank, Nanos now) {
    if (Peer* peer = ctx_.peers.find(rank); peer != nullptr) first_.consider(*peer, now);
}

void Sender::on_first_round_trip(Peer& peer, Nanos now) {
    for (const std::uint32_t i : peer.begun) probes_.expect(i, peer, now);
}

void Sender::on_ack(const wire::Decoded& d, Nanos now) {
    const std::uint32_t i = sends_.find(d.csa.name, d.control.from_rank);
    if (i == kNone) return;  // a repeated ACK
    ++ctx_.stats.messages_sent;
    Peer& peer = ctx_.peers.get(d.control.from_rank);
    const std::uint16_t total = sends_[i].total;
    const std::int32_t lost = peer.loss_count.heard(d.control.cumulative, total);
    peer.silent.message(total, lost);
    ctx_.silent.message(total, lost);
    sends_.note_acknowledged(sends_[i]);
    finish(i, Status::ok, d.control.from_rank, now);
}

void Sender::on_state(const wire::Decoded& d, Nanos late, Nanos now) {
    const std::uint32_t i = sends_.find(d.csa.name, d.control.from_rank);
    const bool known = i != kNone;
    Peer& peer = ctx_.peers.get(d.control.from_rank);
    if (known) {
        reports_.merge(sends_[i], d, now);
        if ((d.control.flags & wire::kAwaited) != 0) first_.awaited(i, peer, now);
    }
    const DetectorSwitches& on = ctx_.config.detectors;
    switch (d.control.reason) {
        case wire::Reason::loss:
            if (known) repairs_.reported(i, d.csa.pkt_idx, d.csa.attempt, now);
            return;
        case wire::Reason::gap:
            if (on.gap) repairs_.gap(peer, d.control, now);
            return;
        case wire::Reason::interval:
            if (!known || !on.interval || repairs_.missing(i, peer, d, late, now) == 0) answer_interval(i, d);
            return;
        default:
            if (!known || !on.probe) return;
            if (repairs_.missing(i, peer, d, late, now) == 0) Probes::answered(sends_[i]);
    }
}

void Sender::on_not_ready(const wire::Decoded& d, Nanos now) {
    const std::uint32_t i = sends_.find(d.csa.name, d.control.from_rank);
    if (i == kNone) return;
    SendMessage& m = sends_[i];
    m.last_news = now;  // the receiver is alive and not there yet
    Probes::answered(m);
    // Whatever of it has come there was dropped. The window is for what comes after it.
    Peer& peer = ctx_.peers.get(m.dst);
    const auto out = static_cast<std::uint16_t>(m.next - m.arrived_count);
    peer.window.refused(std::uint32_t{out} - std::min(out, m.refused));
    m.refused = std::max(out, m.refused);
    first_.consider(peer, now);
}

void Sender::on_bounce(const wire::Decoded& d, std::uint16_t dst, Nanos now) {
    const std::uint32_t i = sends_.find(d.csa.name, dst);
    if (i == kNone) return;
    repairs_.reported(i, d.csa.pkt_idx, d.csa.attempt, now);
    if (d.csa.attempt != 0) return;
    // The receiver, who was not told, will count it.
    ctx_.peers.get(dst).silent.message(0, -1);
    ctx_.silent.message(0, -1);
}

void Sender::answer_interval(std::uint32_t i, const wire::Decoded& d) {
    const std::uint16_t sent = i == kNone ? std::uint16_t{0} : sends_[i].next;
    const std::uint16_t peer = d.control.from_rank;
    wire::Reason reason = sent == 0 ? wire::Reason::not_started : wire::Reason::sent;
    if (i == kNone && sends_.acknowledged(d.csa.name, peer)) reason = wire::Reason::gone;
    ControlItem item = control_item(wire::Type::probe_rsp, reason, peer, d.csa.name, d.csa.pkt_total);
    item.flags = wire::kEcho | wire::kSeen;
    item.newest_ts = d.csa.tx_ts;
    item.cumulative = sent;
    ctx_.control.push(item);
}

void Sender::on_timer(std::uint32_t i, Nanos now) {
    SendMessage& m = sends_[i];
    if (m.id == 0) return;
    Peer& peer = ctx_.peers.get(m.dst);
    // Packets that wait for our own link or turn are no reason to ask, and without credit one message asks
    // for all. Such a message needs no timer until a packet of it goes, or its turn to ask comes.
    const SendMessage* first = first_.first(peer);
    const bool ours = !m.all_sent() && first_.may_send(peer);
    const bool behind = m.next == 0 && first != &m;
    if (!ours && !behind) {
        repairs_.keep_comparable(m, now);
        return probes_.on_timer(i, m, peer, now);
    }
    if (ours) first_.consider(peer, now);
}

bool Sender::next_copy(Copy& copy, Nanos now) {
    // A retransmission that waited here for new data would be taken for lost there.
    return repairs_.next(copy, now) || parity_.next_of_chain(copy, now) || first_.next(copy, now) ||
           parity_.next(copy, now);
}

}  // namespace csaud
