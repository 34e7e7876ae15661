#include "csaud_sim/baselines/dcp_sender.hpp"

#include <algorithm>
#include <stdexcept>

namespace csaud::sim::baselines {

DcpSender::DcpSender(std::uint32_t window, Nanos timeout) : window_(window), timeout_(timeout) {
    if (window == 0 || timeout <= 0) throw std::invalid_argument("a window and a timeout lie above 0");
}

// Of packets behind a hole it is known how many arrived, not which.
bool DcpSender::may_send() const {
    if (!packets_.any()) return false;
    const std::uint32_t beyond = std::min(arrived_ - packets_.base(), packets_.flying());
    return packets_.flying() - beyond < window_;
}

DcpSender::Shot DcpSender::send(Nanos now) {
    const std::uint32_t seq = packets_.next();
    if (packets_.flying() == 0) heard_at_ = now;
    const PacketLedger::Packet& packet = packets_.send(now);
    return {seq, packet.payload, packet.why};
}

void DcpSender::on_ack(std::uint32_t next, std::uint32_t arrived, Nanos now) {
    if (next > packets_.fresh() || arrived < arrived_) return;
    heard_at_ = now;
    arrived_ = arrived;
    while (packets_.base() < next) packets_.ack(packets_.base());
}

void DcpSender::on_cut(std::uint32_t seq, Nanos now) {
    heard_at_ = now;
    if (packets_.known(seq) && packets_.at(seq).state == PacketLedger::State::flying)
        packets_.lose(seq, Reason::trimmed);
}

Nanos DcpSender::deadline() const {
    return packets_.flying() == 0 ? kNever : heard_at_ + timeout_;
}

// Nothing is known of single packets, so that all of them go again.
std::size_t DcpSender::on_timer(Nanos now) {
    if (deadline() > now) return 0;
    const std::size_t count = packets_.flying();
    while (packets_.oldest() != PacketLedger::kNone) packets_.lose(packets_.oldest(), Reason::timeout);
    heard_at_ = now;
    return count;
}

}  // namespace csaud::sim::baselines
