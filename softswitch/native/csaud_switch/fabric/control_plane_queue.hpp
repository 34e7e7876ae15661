// What waits for the control plane to take it: packets, and digests of packets. Of each up to a limit; what
// comes beyond that is lost.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

// A digest of one packet: the values of its elements as words, two for those of more than 64 bits.
struct DigestSample {
    std::uint32_t digest = 0;  // in the program
    std::vector<std::uint64_t> words;
    Nanos time = 0;
};

class ControlPlaneQueue {
  public:
    // False: there is no room.
    bool add(const Packet& packet);
    // A digest, number `index` of the program, of this packet.
    bool add(const Digest& digest, std::uint32_t index, const Packet& packet, Nanos now);

    std::vector<std::vector<std::uint8_t>> take_packets();
    std::vector<DigestSample> take_digests();
    // Of a program that goes.
    void forget_digests() { digests_.clear(); }

  private:
    static constexpr std::size_t kPacketLimit = 16384;
    static constexpr std::size_t kDigestLimit = 16384;

    std::deque<std::vector<std::uint8_t>> packets_;
    std::vector<DigestSample> digests_;
};

}  // namespace csaud::sw
