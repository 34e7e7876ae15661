#include "csaud_host/sending/sends.hpp"

namespace csaud {

std::uint32_t Sends::open(const MessageName& name, std::uint16_t dst, std::span<const std::byte> buffer,
                          const Hints& hints, Nanos now) {
    const std::uint32_t i = all_.take();
    SendMessage& m = all_[i];
    m = SendMessage{};
    m.id = ctx_.next_id++;
    m.name = name;
    m.dst = dst;
    m.cls = hints.cls;
    m.barrier = hints.barrier;
    m.buffer = buffer;
    m.total = static_cast<std::uint16_t>(Cut{ctx_.payload_bytes, buffer.size()}.packets());
    m.posted = m.last_news = now;
    m.alone = hints.fan_in == 1;
    m.chained = hints.chained;
    by_key_.add(i);
    return i;
}

void Sends::begin(std::uint32_t i, Peer& peer) {
    SendMessage& m = all_[i];
    m.records = records_.take(m.total);
    m.active_place = static_cast<std::uint32_t>(peer.begun.size());
    peer.begun.push_back(i);
}

void Sends::close(std::uint32_t i, Peer& peer, Status status, std::uint16_t rank, Nanos now) {
    SendMessage& m = all_[i];
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
        records_.release(m.records, m.total);
        std::vector<std::uint32_t>& begun = peer.begun;
        begun[m.active_place] = begun.back();
        all_[begun[m.active_place]].active_place = m.active_place;
        begun.pop_back();
        if (begun.empty()) peer.window.settle();
    }
    ctx_.timers.cancel(TimerKind::send, i);
    liveness_.release(peer);
    by_key_.erase(i);
    m.id = 0;
    all_.release(i);
}

void Sends::list(std::vector<PendingMessage>& out) const {
    for (std::uint32_t i = 0; i < all_.capacity(); ++i) {
        const SendMessage& m = all_[i];
        if (m.id == 0) continue;
        out.push_back({.id = m.id,
                       .name = m.name,
                       .kind = CompletionKind::send,
                       .peer = m.dst,
                       .bytes = m.buffer.size(),
                       .arrived = m.arrived_count,
                       .packets = m.total});
    }
}

}  // namespace csaud
