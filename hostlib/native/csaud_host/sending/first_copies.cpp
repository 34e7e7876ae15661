#include "csaud_host/sending/first_copies.hpp"

#include <algorithm>

#include "csaud_host/loss/retransmit_queue.hpp"

namespace csaud {
namespace {
constexpr std::size_t kMostPassed = 64;  // messages, so that a post takes no longer the more there are

// A newcomer goes before what is at least twice as long, so that equal ones, and those little shorter, keep
// their order. What is let before a message is never more than it has itself: it waits twice as long at
// worst. And what is awaited, and needs no credit, does not get behind what may run out of it.
bool yields(const SendMessage& m, const SendMessage& newcomer, const Peer& peer) noexcept {
    return m.cls >= newcomer.cls && m.left() >= 2U * newcomer.total &&
           m.yielded + newcomer.total <= m.total && (!m.awaited || peer.credit.left() >= newcomer.total);
}
}  // namespace

std::size_t FirstCopies::place(const SendMessage& newcomer, Peer& peer) noexcept {
    std::size_t place = peer.pending.size();
    const std::size_t first = place - std::min(place, kMostPassed);
    for (; place > first; --place) {
        SendMessage* m = sends_.find(peer.pending.at(place - 1));
        if (m == nullptr || !yields(*m, newcomer, peer)) break;
        m->yielded = static_cast<std::uint16_t>(m->yielded + newcomer.total);
    }
    return place;
}

void FirstCopies::add(std::uint32_t i, Peer& peer, const Hints& hints, Nanos now) {
    if (sends_[i].cls <= kUrgentClass) {
        peer.pending.push_front(sends_.handle(i));
    } else {
        peer.pending.insert(place(sends_[i], peer), sends_.handle(i));
    }
    if (ctx_.config.shaping && hints.fan_in > 1) {
        peer.window.shape(window_share(ctx_.config, hints.fan_in));
        if (hints.fan_in > ctx_.config.shared_window)
            peer.turns.take(hints.fan_in, ctx_.config.rank, ctx_.turn_time(), now);
    }
    consider(peer, now);
}

SendMessage* FirstCopies::first(Peer& peer) noexcept {
    while (!peer.pending.empty()) {
        SendMessage* first = sends_.find(peer.pending.front());
        if (first != nullptr && !first->all_sent()) return first;
        peer.pending.pop();
    }
    return nullptr;
}

bool FirstCopies::may_send(Peer& peer) noexcept {
    if (!peer.window.open()) return false;
    const SendMessage* message = first(peer);
    return message != nullptr && (message->awaited || peer.credit.may_send());
}

void FirstCopies::consider(Peer& peer, Nanos now) {
    if (peer.in_ready || first(peer) == nullptr) return;
    // Those behind the first have no timer: once it asks, the answer's news is for all.
    probes_.expect(peer.pending.front().index, peer, now);
    if (!may_send(peer)) return;
    if (!peer.turns.mine(now)) return ctx_.timers.arm(TimerKind::turn, peer.rank, peer.turns.next());
    peer.in_ready = true;
    ready_.push(peer.rank);
}

// Where others before it keep a message that is awaited from going, since all credit went to them and nothing
// of it is under way, their receives are not posted, and it goes before them.
void FirstCopies::awaited(std::uint32_t i, Peer& peer, Nanos now) {
    SendMessage& m = sends_[i];
    if (!m.awaited) {
        m.awaited = true;
        m.probe_rounds = 0;
        if (m.next != 0) probes_.expect(i, peer, now);
    }
    if (m.all_sent() || peer.credit.may_send()) return;
    if (!first(peer)->awaited && peer.window.idle()) peer.pending.push_front(sends_.handle(i));
    consider(peer, now);
}

bool FirstCopies::next(Copy& copy, Nanos now) {
    while (!ready_.empty()) {
        Peer& peer = ctx_.peers.get(ready_.pop());
        peer.in_ready = false;
        consider(peer, now);  // to the back of the ring, if there is work and credit
        if (!peer.in_ready) continue;
        const Handle h = peer.pending.front();
        SendMessage& m = sends_[h.index];
        probes_.expect(h.index, peer, now);
        if (m.records == kNone) {
            sends_.begin(h.index, peer);
            parity_.begin(m, peer);
        }
        const std::uint16_t idx = m.next++;
        if (m.all_sent()) peer.pending.pop();
        PacketRecord& record = sends_.record(m, idx);
        record.path = peer.paths.next(ctx_.config.window);
        departures_.stamp(m, peer, record, now);
        parity_.sent(h.index, idx, peer, now);
        m.probe_rounds = 0;
        if (m.awaited) {
            peer.credit.sent_anticipating();
        } else {
            peer.credit.sent();
        }
        peer.window.sent();
        peer.turns.sent(now);
        copy = {&m, idx, record, peer.window.asks(), m.cls};
        return true;
    }
    return false;
}

}  // namespace csaud
