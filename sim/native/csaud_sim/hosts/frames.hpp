// Between a host's packets, which begin with their IPv4 header, and frames on links.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "csaud_host/endpoint/endpoint.hpp"
#include "csaud_sim/network/csa_frame.hpp"
#include "csaud_switch/base/packet.hpp"

namespace csaud::sim {

class Frames {
  public:
    // real: payloads are carried. Otherwise frames are as long as with them and hold something else there, so
    // that nothing is read from where it is sent and hosts must not check iCRCs.
    explicit Frames(bool real) : real_(real) {}

    bool real() const { return real_; }

    static std::uint32_t bytes(const TxPacket& packet) {
        return static_cast<std::uint32_t>(kEthernetBytes + packet.size());
    }
    // Into a frame of this many bytes.
    void write(const TxPacket& packet, sw::Packet& frame) const;
    // A packet as its receiver takes it, valid until the next call; empty: a frame without one.
    std::span<const std::byte> read(const sw::Packet& frame);

  private:
    static constexpr std::size_t kHead = kEthernetBytes + sizeof(TxPacket::head) + sizeof(TxPacket::tail);

    bool real_;
    std::array<std::byte, sw::kMaxFrame> read_{};  // without payloads: so that none is fetched from memory
};

}  // namespace csaud::sim
