#include "csaud_host/sending/first_copies.hpp"

#include <algorithm>

namespace csaud {
namespace {
constexpr std::uint8_t kUrgentClass = 1;  // and 0
constexpr std::size_t kMostPassed = 64;   // transfers, so that a post takes no longer the more there are
constexpr std::uint32_t kLonger = 64;     // packets, where that is less than as much again
constexpr std::uint8_t kInARow = 2;       // packets of a transfer before one of a shorter one

// Messages of one call have one place; an urgent one has its own.
bool together(const SendMessage& a, const SendMessage& b) noexcept {
    return a.cls > kUrgentClass && a.cls == b.cls && a.name.comm == b.name.comm &&
           a.name.coll_seq == b.name.coll_seq;
}

// Is a transfer so much longer than one of `size` packets that this goes before it? Equal ones, and those
// little shorter, keep their order.
bool longer(const Transfer& t, std::uint32_t size) noexcept {
    return t.left >= size + std::min(size, kLonger);
}
}  // namespace

std::uint32_t FirstCopies::waiting(const SendMessage& m, Peer& peer, std::size_t from) noexcept {
    std::uint32_t packets = 0;
    for (std::size_t place = from; place < peer.pending.size(); ++place) {
        const Transfer& t = peer.pending.at(place);
        if (together(sends_[t.first], m)) packets += t.left;
    }
    return packets;
}

void FirstCopies::line_up(std::uint32_t i, Peer& peer) {
    const SendMessage& m = sends_[i];
    const Transfer alone{i, i, m.left(), m.total / 2U};
    if (m.cls <= kUrgentClass) return peer.pending.push_front(alone);
    std::size_t place = peer.pending.size();
    const std::size_t least = place - std::min(place, kMostPassed);
    const std::uint32_t size = m.total + waiting(m, peer, least);
    for (; place > least; --place) {
        Transfer& t = peer.pending.at(place - 1);
        const SendMessage& first = sends_[t.first];
        if (together(first, m)) {
            sends_[t.last].behind = i;
            t.last = i;
            t.left += m.total;
            t.yields += m.total / 2U;
            return;
        }
        if (first.cls < m.cls || !longer(t, size) || t.yields < m.total) break;
        t.yields -= m.total;
    }
    peer.pending.insert(place, alone);
}

void FirstCopies::add(std::uint32_t i, Peer& peer, const Hints& hints, Nanos now) {
    line_up(i, peer);
    if (ctx_.config.shaping && hints.fan_in > 1) {
        peer.window.shape(window_share(ctx_.config, hints.fan_in));
        if (hints.fan_in > ctx_.config.shared_window)
            peer.turns.take(hints.fan_in, ctx_.config.rank, ctx_.turn_time(), now);
    }
    consider(peer, now);
}

SendMessage* FirstCopies::first(Peer& peer) noexcept {
    return peer.pending.empty() ? nullptr : &sends_[peer.pending.front().first];
}

bool FirstCopies::sendable(const Transfer& t, const Peer& peer) noexcept {
    return peer.credit.may_send() || sends_[t.first].awaited;
}

// Who has no credit lets pass what needs none: it may have been let before that itself. And who goes leaves
// every third place to the shortest of those that did not get before it.
std::size_t FirstCopies::next_place(Peer& peer) noexcept {
    const std::size_t all = std::min(peer.pending.size(), kMostPassed);
    std::size_t next = 0;
    while (next < all && !sendable(peer.pending.at(next), peer)) ++next;
    if (next + 1 >= all) return next;
    const Transfer& goes = peer.pending.at(next);
    if (goes.in_a_row < kInARow) return next;
    const std::uint8_t cls = sends_[goes.first].cls;
    std::size_t least = next;
    for (std::size_t place = next + 1; place < all; ++place) {
        const Transfer& t = peer.pending.at(place);
        if (t.left >= peer.pending.at(least).left || !longer(goes, t.left)) continue;
        if (sendable(t, peer) && sends_[t.first].cls <= cls) least = place;
    }
    return least;
}

// Those before the one that goes have no credit, or leave it their place.
void FirstCopies::note_place(Peer& peer, std::size_t place) noexcept {
    for (std::size_t before = 0; before < place; ++before) peer.pending.at(before).in_a_row = 0;
    Transfer& t = peer.pending.at(place);
    t.in_a_row = t.in_a_row < kInARow ? static_cast<std::uint8_t>(t.in_a_row + 1) : std::uint8_t{1};
}

bool FirstCopies::may_send(Peer& peer) noexcept {
    if (peer.pending.empty() || !peer.window.open()) return false;
    return peer.credit.may_send() || next_place(peer) < std::min(peer.pending.size(), kMostPassed);
}

void FirstCopies::leave(std::uint32_t i, Peer& peer, std::size_t place) noexcept {
    Transfer& t = peer.pending.at(place);
    SendMessage& m = sends_[i];
    t.left -= m.left();
    if (t.first == t.last) return peer.pending.erase(place);
    if (t.first == i) {
        t.first = m.behind;
    } else {
        std::uint32_t before = t.first;
        while (sends_[before].behind != i) before = sends_[before].behind;
        sends_[before].behind = m.behind;
        if (t.last == i) t.last = before;
    }
    m.behind = kNone;
}

void FirstCopies::leave(std::uint32_t i, Peer& peer) noexcept {
    for (std::size_t place = 0; place < peer.pending.size(); ++place) {
        const Transfer& t = peer.pending.at(place);
        for (std::uint32_t at = t.first; at != kNone; at = sends_[at].behind) {
            if (at == i) return leave(i, peer, place);
        }
    }
}

void FirstCopies::consider(Peer& peer, Nanos now) {
    if (peer.in_ready || first(peer) == nullptr) return;
    // Those behind the first have no timer: once it asks, the answer's news is for all.
    probes_.expect(peer.pending.front().first, peer, now);
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
    if (!first(peer)->awaited && peer.window.idle()) {
        leave(i, peer);
        peer.pending.push_front({i, i, m.left(), m.left() / 2U});
    }
    consider(peer, now);
}

bool FirstCopies::next(Copy& copy, Nanos now) {
    while (!ready_.empty()) {
        Peer& peer = ctx_.peers.get(ready_.pop());
        peer.in_ready = false;
        consider(peer, now);  // to the back of the ring, if there is work and credit
        if (!peer.in_ready) continue;
        const std::size_t place = next_place(peer);
        Transfer& t = peer.pending.at(place);
        const std::uint32_t i = t.first;
        SendMessage& m = sends_[i];
        probes_.expect(i, peer, now);
        if (m.records == kNone) {
            sends_.begin(i, peer);
            parity_.begin(m, peer);
        }
        const std::uint16_t idx = m.next++;
        --t.left;
        note_place(peer, place);
        if (m.all_sent()) leave(i, peer, place);
        PacketRecord& record = sends_.record(m, idx);
        record.path = peer.paths.next(ctx_.config.window);
        departures_.stamp(m, peer, record, now);
        parity_.sent(i, idx, peer, now);
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
