#include "csaud_sim/hosts/frames.hpp"

#include <algorithm>
#include <cstring>

namespace csaud::sim {

namespace {

// Switches do not look at MAC addresses.
constexpr std::array<std::uint8_t, 14> kEthernet = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0};

}  // namespace

void Frames::write(const TxPacket& packet, sw::Packet& frame) const {
    std::uint8_t* to = frame.data();
    std::memcpy(to, kEthernet.data(), kEthernet.size());
    std::memcpy(to + kEthernetBytes, packet.head.data(), packet.head_len);
    to += kEthernetBytes + packet.head_len;
    if (real_ && !packet.payload.empty()) std::memcpy(to, packet.payload.data(), packet.payload.size());
    std::memcpy(to + packet.payload.size(), packet.tail.data(), packet.tail_len);
}

std::span<const std::byte> Frames::read(const sw::Packet& frame) {
    const auto bytes = std::as_bytes(frame.frame());
    if (bytes.size() <= kEthernetBytes) return {};
    if (real_) return bytes.subspan(kEthernetBytes);
    std::memcpy(read_.data(), bytes.data(), std::min(bytes.size(), kHead));
    return std::span(read_).first(bytes.size()).subspan(kEthernetBytes);
}

}  // namespace csaud::sim
