#include "csaud_sim/baselines/packet_ledger.hpp"

#include <utility>

namespace csaud::sim::baselines {

void PacketLedger::post(std::uint32_t payload) {
    Packet packet;
    packet.payload = payload;
    packets_.push(packet);
}

PacketLedger::Packet& PacketLedger::send(Nanos now) {
    const std::uint32_t seq = next();
    Packet& packet = at(seq);
    if (std::exchange(packet.state, State::flying) == State::lost) {
        --lost_;
        find_lost();
    } else {
        ++fresh_;
    }
    ++flying_;
    ++packet.times;
    packet.sent_at = now;
    packet.older = newest_;
    packet.newer = kNone;
    (newest_ == kNone ? oldest_ : at(newest_).newer) = seq;
    newest_ = seq;
    return packet;
}

void PacketLedger::land(const Packet& packet) {
    --flying_;
    (packet.older == kNone ? oldest_ : at(packet.older).newer) = packet.newer;
    (packet.newer == kNone ? newest_ : at(packet.newer).older) = packet.older;
}

void PacketLedger::find_lost() {
    if (lost_ == 0) return;
    while (first_lost_ < base_ || at(first_lost_).state != State::lost) ++first_lost_;
}

PacketLedger::State PacketLedger::ack(std::uint32_t seq) {
    Packet& packet = at(seq);
    const State before = std::exchange(packet.state, State::acked);
    if (before == State::flying) land(packet);
    if (before == State::lost) {
        --lost_;
        find_lost();
    }
    for (; !packets_.empty() && packets_.front().state == State::acked; ++base_) packets_.pop();
    return before;
}

void PacketLedger::lose(std::uint32_t seq, Reason why) {
    Packet& packet = at(seq);
    land(packet);
    packet.state = State::lost;
    packet.why = why;
    if (lost_++ == 0 || seq < first_lost_) first_lost_ = seq;
}

}  // namespace csaud::sim::baselines
