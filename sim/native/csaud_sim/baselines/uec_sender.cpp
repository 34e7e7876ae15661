#include "csaud_sim/baselines/uec_sender.hpp"

#include <stdexcept>
#include <utility>

namespace csaud::sim::baselines {

UecSender::UecSender(const NsccConfig& config, Nanos timeout, std::unique_ptr<PathPolicy> paths)
    : config_(config), nscc_(config), timeout_(timeout), paths_(std::move(paths)) {
    if (timeout <= 0) throw std::invalid_argument("a timeout lies above 0");
}

bool UecSender::may_send() {
    return packets_.any() && nscc_.window() >= in_flight_ + bytes_of(packets_.next());
}

UecData UecSender::send(Nanos now) {
    const std::uint32_t seq = packets_.next();
    const PacketLedger::Packet& packet = packets_.send(now);
    in_flight_ += packet.payload + config_.header;
    // Whoever cannot go on wants to know how it stands.
    const bool last = packets_.fresh() == packets_.end() || in_flight_ + config_.mtu >= nscc_.window();
    const bool again = packet.times > 1;
    return {seq, packet.payload, paths_->next(now), again || last, packet.why};
}

// An acknowledgement of a packet that was sent twice is of a certain copy only where it says so.
std::optional<Nanos> UecSender::sample(std::uint32_t seq, bool again, Nanos now) {
    if (!packets_.known(seq)) return std::nullopt;
    const PacketLedger::Packet& packet = packets_.at(seq);
    if (packet.state != State::flying || packet.times != (again ? 2 : 1)) return std::nullopt;
    return now - packet.sent_at;
}

// Bytes in flight go by what the receiver has counted, which a packet believed lost is among.
void UecSender::acked(std::uint32_t seq) {
    const std::uint32_t bytes = bytes_of(seq);
    if (packets_.ack(seq) == State::lost) in_flight_ += bytes;
}

void UecSender::on_ack(const UecAck& ack, Nanos now) {
    if (ack.acked >= packets_.fresh() || ack.next > packets_.fresh()) return;
    const std::uint64_t arrived = ack.received > received_ ? ack.received - received_ : 0;
    received_ += arrived;
    in_flight_ -= static_cast<std::int64_t>(arrived);
    const std::optional<Nanos> rtt = sample(ack.acked, ack.again, now);
    while (packets_.base() < ack.next) acked(packets_.base());
    for (std::uint32_t i = 0; i < kAckBits; ++i)
        if ((ack.bitmap >> i & 1U) != 0 && packets_.known(ack.base + i)) acked(ack.base + i);
    paths_->learn(ack.path, ack.marked ? PathNews::marked : PathNews::good, now);
    nscc_.on_ack({static_cast<std::int64_t>(arrived), rtt, ack.marked, in_flight_}, now);
}

void UecSender::on_nack(const UecNack& nack, Nanos now) {
    if (!packets_.known(nack.seq) || packets_.at(nack.seq).state != State::flying) return;
    const std::uint32_t bytes = bytes_of(nack.seq);
    nscc_.on_trimmed(bytes, now - packets_.at(nack.seq).sent_at, in_flight_, now);
    packets_.lose(nack.seq, Reason::trimmed);
    in_flight_ -= bytes;
    // On the receiver's own link, no other path would have been better.
    const PathNews here = nack.marked ? PathNews::marked : PathNews::good;
    paths_->learn(nack.path, nack.last_hop ? here : PathNews::trimmed, now);
}

Nanos UecSender::deadline() {
    const std::uint32_t oldest = packets_.oldest();
    return oldest == PacketLedger::kNone ? kNever : packets_.at(oldest).sent_at + timeout_;
}

std::size_t UecSender::on_timer(Nanos now) {
    std::size_t count = 0;
    for (; deadline() <= now; ++count) {
        const std::uint32_t bytes = bytes_of(packets_.oldest());
        paths_->learn(0, PathNews::timeout, now);
        packets_.lose(packets_.oldest(), Reason::timeout);
        in_flight_ -= bytes;
        nscc_.on_timeout(bytes);
    }
    return count;
}

}  // namespace csaud::sim::baselines
