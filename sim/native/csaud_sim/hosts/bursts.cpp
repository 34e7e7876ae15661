#include "csaud_sim/hosts/bursts.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "csaud_host/base/byte_order.hpp"
#include "csaud_sim/network/csa_frame.hpp"

namespace csaud::sim {

namespace {

constexpr std::size_t kIpv4 = 20, kUdp = 8;
constexpr unsigned kProtocolUdp = 17;

std::uint16_t checksum(const std::byte* header) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < kIpv4; i += 2) sum += get16(header + i);
    while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

}  // namespace

Bursts::Bursts(const BurstPlan& plan, Nanos start) : plan_(plan), start_(start) {
    if (plan.burst == 0 || !(plan.interval > 0) || !(plan.every >= plan.interval * (plan.burst - 1)))
        throw std::invalid_argument(
            "a burst has packets, time between them, and ends before the next begins");
    if (frame_bytes() > sw::kMaxFrame) throw std::invalid_argument("the payload is too long for a frame");
}

Nanos Bursts::due() const {
    if (stopped_) return kNever;
    const std::uint64_t round = sent_ / plan_.burst, within = sent_ % plan_.burst;
    return start_ + static_cast<Nanos>(static_cast<double>(round) * plan_.every +
                                       static_cast<double>(within) * plan_.interval);
}

std::uint32_t Bursts::frame_bytes() const {
    return static_cast<std::uint32_t>(kEthernetBytes + kIpv4 + kUdp + plan_.payload);
}

void Bursts::write(sw::Packet& frame) {
    auto* bytes = reinterpret_cast<std::byte*>(frame.data());
    std::memset(bytes, 0, frame_bytes());
    put8(bytes + 5, 2);  // MAC addresses, at which no switch looks
    put8(bytes + 11, 1);
    put16(bytes + 12, 0x0800);
    std::byte* ip = bytes + kEthernetBytes;
    put8(ip, 0x45);
    put16(ip + 2, static_cast<unsigned>(kIpv4 + kUdp + plan_.payload));
    put8(ip + 8, 64);
    put8(ip + 9, kProtocolUdp);
    put32(ip + 12, plan_.src_ipv4);
    put32(ip + 16, plan_.dst_ipv4);
    put16(ip + 10, checksum(ip));
    put16(ip + kIpv4, plan_.port);
    put16(ip + kIpv4 + 2, plan_.port);
    put16(ip + kIpv4 + 4, static_cast<unsigned>(kUdp + plan_.payload));
    ++sent_;
}

Nanos BurstQueue::due() const {
    Nanos due = Bursts::kNever;
    for (const Bursts* bursts : bursts_) due = std::min(due, bursts->due());
    return due;
}

sw::Packet* BurstQueue::next(Network& network, Nanos now) {
    for (std::size_t looked = 0; looked < bursts_.size(); ++looked) {
        Bursts& bursts = *bursts_[turn_++ % bursts_.size()];
        if (bursts.due() > now) continue;
        sw::Packet* frame = network.packet(bursts.frame_bytes());
        bursts.write(*frame);
        return frame;
    }
    return nullptr;
}

}  // namespace csaud::sim
