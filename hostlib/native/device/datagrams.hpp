// Packets out of what UDP sockets bring: datagrams without their IPv4 and UDP headers, one packet each, or a
// train that the kernel has merged (UDP_GRO).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "csaud_host/wire/wire.hpp"
#include "device.hpp"
#include "ip_headers.hpp"

namespace csaud::device {

class Datagrams {
  public:
    // Room that a datagram needs in front of it.
    static constexpr std::size_t kHeadroom = wire::kIpv4Bytes + wire::kUdpBytes;
    // Bytes of the longest datagram that a socket with UDP_GRO delivers.
    static constexpr std::size_t kLongestTrain = 65'536;
    static constexpr std::size_t kTrains = 8;  // received at once: 120 packets of 4 KB

    // Calls `each(packet, first)` for every packet in `slot`, headroom included: `segment` bytes of each lie
    // one behind the other (0: it is one), so that the room of all but the first is in the packet before.
    template <class Each>
    static void cut(std::span<std::byte> slot, std::size_t segment, Each each) {
        const std::size_t body = slot.size() - kHeadroom;
        if (segment == 0 || segment >= body) return each(slot, true);
        for (std::size_t begin = 0; begin < body; begin += segment)
            each(slot.subspan(begin, kHeadroom + std::min(segment, body - begin)), begin == 0);
    }

    void clear();
    // A packet that cut() gave, with the headers that it came with.
    void add(std::span<std::byte> packet, const IpHeaders& headers, bool first);
    // See Device::before: where the headers' room lies in the packet before, they are written here.
    void before(std::size_t index);

    std::span<const Packet> packets() const { return packets_; }
    void reserve(std::size_t count) { packets_.reserve(count); }

  private:
    struct Follower {
        std::size_t index = 0;  // in packets_
        std::byte* at = nullptr;
        IpHeaders headers;
    };

    std::vector<Packet> packets_;
    std::vector<Follower> followers_;
    std::size_t next_follower_ = 0;
};

}  // namespace csaud::device
