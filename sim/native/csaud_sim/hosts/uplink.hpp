// A NIC: sends one frame after the other at its link's rate.
#pragma once

#include <cstdint>

#include "csaud_sim/network/network.hpp"

namespace csaud::sim {

struct Nic {
    std::uint64_t rate_bps = 0;  // 0: unlimited
    Nanos delay = 0;             // propagation to the switch, and back
};

class Uplink {
  public:
    Uplink(const Network& network, Channel& channel, std::uint64_t rate_bps)
        : network_(network), channel_(channel), rate_bps_(rate_bps) {}

    bool free(Nanos now) const { return free_at_ <= now; }
    Nanos free_at() const { return free_at_; }
    // When it is free. Takes the frame over.
    void send(sw::Packet* frame, Nanos now) {
        free_at_ = now + network_.model().sending_time(frame->length, rate_bps_);
        channel_.carry(frame, free_at_);
    }

  private:
    const Network& network_;
    Channel& channel_;
    std::uint64_t rate_bps_;
    Nanos free_at_ = 0;
};

}  // namespace csaud::sim
