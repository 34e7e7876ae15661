#include "csaud_sim/baselines/ndp_sender.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace csaud::sim::baselines {

NdpSender::NdpSender(std::uint32_t first_window, Nanos timeout, std::unique_ptr<PathPolicy> paths)
    : first_window_(first_window), timeout_(timeout), paths_(std::move(paths)) {
    if (first_window == 0 || timeout <= 0)
        throw std::invalid_argument("a first window and a timeout lie above 0");
}

void NdpSender::post(std::uint32_t payload) {
    packets_.post(payload);
    const std::uint32_t flying = packets_.flying();
    if (flying < first_window_) credit_ = std::max(credit_, first_window_ - flying);
}

NdpSender::Shot NdpSender::send(Nanos now) {
    const std::uint32_t seq = packets_.next();
    const PacketLedger::Packet& packet = packets_.send(now);
    --credit_;
    heard_at_ = now;
    return {seq, packet.payload, paths_->next(now), packet.why};
}

void NdpSender::on_ack(std::uint32_t seq, std::uint16_t path, Nanos now) {
    heard_at_ = now;
    if (packets_.known(seq)) packets_.ack(seq);
    paths_->learn(path, PathNews::good, now);
}

void NdpSender::on_nack(std::uint32_t seq, std::uint16_t path, Nanos now) {
    heard_at_ = now;
    if (packets_.known(seq) && packets_.at(seq).state == PacketLedger::State::flying)
        packets_.lose(seq, Reason::trimmed);
    paths_->learn(path, PathNews::trimmed, now);
}

// Pulls that find nothing to send are over.
void NdpSender::on_pulls(std::uint32_t pulls, Nanos now) {
    heard_at_ = now;
    if (pulls <= pulls_) return;
    if (packets_.any()) credit_ += pulls - pulls_;
    pulls_ = pulls;
}

// Packets that were cut wait for pulls, which may be lost as well.
Nanos NdpSender::deadline() {
    const std::uint32_t oldest = packets_.oldest();
    if (oldest != PacketLedger::kNone) return packets_.at(oldest).sent_at + timeout_;
    return packets_.any() ? heard_at_ + timeout_ : kNever;
}

std::size_t NdpSender::on_timer(Nanos now) {
    std::size_t count = 0;
    while (packets_.oldest() != PacketLedger::kNone && deadline() <= now) {
        packets_.lose(packets_.oldest(), Reason::timeout);
        paths_->learn(0, PathNews::timeout, now);
        ++credit_;
        ++count;
    }
    if (count == 0 && deadline() <= now) {
        credit_ = std::max<std::uint32_t>(credit_, 1);
        heard_at_ = now;
    }
    return count;
}

}  // namespace csaud::sim::baselines
