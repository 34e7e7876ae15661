// Memory that packets will need while they wait for their turn: fetched in stages, as routers in software do
// with a vector of packets (FD.io VPP, MICA), since each stage finds the place of the next one. Where packets
// come from many peers in turn nothing of them is in a cache; one after the other they would wait for each
// line. Nothing changes but what the caches hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "csaud_host/base/prefetch.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/receiving/receiver.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud {

class Foresight {
  public:
    using Packet = std::span<const std::byte>;

    Foresight(const Context& c, const Receiver& r) : ctx_(c), receiver_(r) {}

    // Before packet `i` of those that came together, each in turn.
    void before(std::span<const Packet> packets, std::size_t i) const noexcept;
    // Before timers that are due.
    void before(std::span<const Timer> due) const noexcept;

  private:
    // Packets before its turn that one's stages are done: so many that memory answers meanwhile.
    static constexpr std::size_t kPacket = 12, kEntry = 9, kPeer = 6, kMessage = 3;

    void entry(Packet) const noexcept;
    void peer(Packet) const noexcept;
    void message(Packet) const noexcept;

    const Context& ctx_;
    const Receiver& receiver_;
};

}  // namespace csaud
