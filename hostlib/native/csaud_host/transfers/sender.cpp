#include "csaud_host/transfers/sender.hpp"

#include <algorithm>
#include <stdexcept>

namespace csaud {

SendMessage* Sender::find(const MessageName& name, std::uint16_t dst, std::uint32_t* index) {
    const std::uint32_t found = by_key_.find(Key{name, dst});
    if (found == kNone) return nullptr;
    if (index != nullptr) *index = found;
    return &messages_[found];
}

std::uint64_t Sender::post(const MessageName& name, std::uint16_t dst, std::span<const std::byte> buffer,
                           const Hints& hints, Nanos now) {
    if (by_key_.find(Key{name, dst}) != kNone) {
        throw std::invalid_argument("post_send: a message of this name is under way to this rank");
    }
    if (acknowledged_.contains(sent_to(name, dst))) {
        throw std::invalid_argument("post_send: a message of this name was sent to this rank before");
    }
    Peer& peer = ctx_.peers.get(dst);
    const std::uint32_t i = messages_.take();
    SendMessage& m = messages_[i];
    m = SendMessage{};
    m.id = ctx_.next_id++;
    m.name = name;
    m.dst = dst;
    m.cls = hints.cls;
    m.barrier = hints.barrier;
    m.buffer = buffer;
    m.total = static_cast<std::uint16_t>(Cut{ctx_.payload_bytes, buffer.size()}.packets());
    m.posted = m.last_news = now;
    m.deadline = hints.deadline;
    m.due = hints.due;
    m.chain = hints.chain;
    by_key_.add(i);
    if (m.cls <= kUrgentClass) {
        peer.pending.push_front(messages_.handle(i));
    } else {
        peer.pending.push(messages_.handle(i));
    }
    if (ctx_.config.shaping && hints.fan_in > 1) {
        peer.window.shape(window_share(ctx_.config, hints.fan_in));
        if (hints.fan_in > ctx_.config.shared_window)
            peer.turns.take(hints.fan_in, ctx_.config.rank, ctx_.turn_time(), now);
    }
    make_ready(peer, now);
    liveness_.wait(peer, now);
    if (peer.paths.any_bad()) probe_paths(peer, now);
    ctx_.timers.arm_earlier(TimerKind::send, i, m.deadline);
    return m.id;
}

void Sender::finish(std::uint32_t i, Status status, std::uint16_t rank, Nanos now) {
    SendMessage& m = messages_[i];
    Peer& peer = ctx_.peers.get(m.dst);
    ctx_.completions.push({.id = m.id,
                           .kind = CompletionKind::send,
                           .status = status,
                           .rank = rank,
                           .bytes = m.buffer.size(),
                           .started_ns = m.posted,
                           .finished_ns = now,
                           .name = m.name});
    under_way_again(m, peer);
    if (m.records != kNone) {
        if (status == Status::ok) all_arrived(m, peer);
        records_.release(m.records, m.total);
        std::vector<std::uint32_t>& begun = peer.begun;
        begun[m.active_place] = begun.back();
        messages_[begun[m.active_place]].active_place = m.active_place;
        begun.pop_back();
        if (begun.empty()) peer.window.settle();
    }
    ctx_.timers.cancel(TimerKind::send, i);
    liveness_.release(peer);
    by_key_.erase(i);
    m.id = 0;
    messages_.release(i);
    if (status == Status::ok) make_ready(peer, now);
}

void Sender::fail_all(Status status, std::uint16_t rank, Nanos now) {
    for (std::uint32_t i = 0; i < messages_.capacity(); ++i) {
        if (messages_[i].id != 0) finish(i, status, rank, now);
    }
    rtx_.clear();
    ready_.clear();
}

SendMessage* Sender::first_pending(Peer& peer) noexcept {
    while (!peer.pending.empty()) {
        SendMessage* first = messages_.find(peer.pending.front());
        if (first != nullptr && !first->all_sent()) return first;
        peer.pending.pop();
    }
    return nullptr;
}

bool Sender::may_send(Peer& peer) noexcept {
    if (!peer.window.open()) return false;
    const SendMessage* first = first_pending(peer);
    return first != nullptr && (first->awaited || peer.credit.may_send());
}

void Sender::make_ready(Peer& peer, Nanos now) {
    if (peer.in_ready || first_pending(peer) == nullptr) return;
    // Those behind the first have no timer: once it asks, the answer's news is for all.
    ask_at(peer.pending.front().index, peer, now);
    if (!may_send(peer)) return;
    if (!peer.turns.mine(now)) return ctx_.timers.arm(TimerKind::turn, peer.rank, peer.turns.next());
    peer.in_ready = true;
    ready_.push(peer.rank);
}

void Sender::on_room(Peer& peer, Nanos now) {
    make_ready(peer, now);
}

void Sender::on_turn(std::uint16_t rank, Nanos now) {
    if (Peer* peer = ctx_.peers.find(rank); peer != nullptr) make_ready(*peer, now);
}

// A copy goes out: it becomes the newest one of its packet.
void Sender::stamp(SendMessage& m, Peer& peer, PacketRecord& r, Nanos now) {
    r.tx_ts = ctx_.ticks(now);
    r.path_seq = peer.tx_seq[r.path];
    peer.tx_seq[r.path] = static_cast<std::uint16_t>(ctx_.path_serial.wrap(r.path_seq + 1ULL));
    if (giving_.begun == kNever) giving_ = {r.tx_ts, r.tx_ts, now, 0};
    giving_.last = r.tx_ts;
    m.last_news = now;
    ++ctx_.stats.tx_data;
    ++ctx_.stats.tx_path[r.path];
}

void Sender::handed_over(Nanos now) noexcept {
    if (giving_.begun == kNever) return;
    if (now - giving_.begun > ctx_.config.timer_tick) {
        held_up_ = giving_;
        held_up_.left = now;
    }
    giving_.begun = kNever;
}

// How long ago a copy left, at most.
Nanos Sender::age(const PacketRecord& r, Nanos now) const noexcept {
    const Serial& s = ctx_.ts_serial;
    if (held_up_.begun != kNever && s.at_or_before(held_up_.first, r.tx_ts) &&
        s.at_or_before(r.tx_ts, held_up_.last)) {
        return now - held_up_.left;
    }
    return ctx_.nanos(s.distance(r.tx_ts, ctx_.ticks(now)));
}

bool Sender::next_retransmission(Copy& copy, Nanos now) {
    while (!rtx_.empty()) {
        const Retransmission r = rtx_.pop();
        SendMessage* m = messages_.find(r.message);
        if (m == nullptr) continue;  // finished meanwhile
        PacketRecord& record = records_.at(m->records, r.pkt_idx);
        record.queued = false;
        if (m->arrived.test(r.pkt_idx)) continue;
        Peer& peer = ctx_.peers.get(m->dst);
        under_way_again(*m, peer);
        m->probe_rounds = 0;
        ask_at(r.message.index, peer, now);
        ++ctx_.stats.tx_path_lost[record.path];
        record.path = peer.paths.next_other(record.path);
        record.attempt = record.attempt == UINT8_MAX ? 1 : static_cast<std::uint8_t>(record.attempt + 1);
        stamp(*m, peer, record, now);
        ++*rtx_by_[static_cast<std::size_t>(r.found_by)];
        copy = {m, r.pkt_idx, record, false, r.class_at(now)};
        return true;
    }
    return false;
}

bool Sender::next_first(Copy& copy, Nanos now) {
    while (!ready_.empty()) {
        Peer& peer = ctx_.peers.get(ready_.pop());
        peer.in_ready = false;
        make_ready(peer, now);  // to the back of the ring, if there is work and credit
        if (!peer.in_ready) continue;
        const Handle h = peer.pending.front();
        SendMessage& m = messages_[h.index];
        ask_at(h.index, peer, now);
        if (m.records == kNone) {
            m.records = records_.take(m.total);
            m.active_place = static_cast<std::uint32_t>(peer.begun.size());
            peer.begun.push_back(h.index);
        }
        const std::uint16_t idx = m.next++;
        if (m.all_sent()) peer.pending.pop();
        PacketRecord& record = records_.at(m.records, idx);
        record.path = peer.paths.next(ctx_.config.window);
        stamp(m, peer, record, now);
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

// Retransmissions that still have slack leave every second place to new data.
bool Sender::repairs_go_first(Nanos now) const noexcept {
    return !rtx_.empty() && (!repaired_ || rtx_.front().class_at(now) <= kLateClass);
}

bool Sender::next_copy(Copy& copy, Nanos now) {
    if (repairs_go_first(now) && next_retransmission(copy, now)) return repaired_ = true;
    repaired_ = false;
    if (next_first(copy, now)) return true;
    return repaired_ = next_retransmission(copy, now);
}

}  // namespace csaud
