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
        free_at_ = now + sending_time(frame->length);
        channel_.carry(frame, free_at_);
    }

  private:
    Nanos sending_time(std::uint32_t bytes) const {
        if (rate_bps_ == 0) return 0;
        const std::uint64_t bits = (std::uint64_t{bytes} + network_.model().overhead_bytes) * 8;
        constexpr std::uint64_t kSecond = 1'000'000'000;
        return static_cast<Nanos>((bits * kSecond + rate_bps_ - 1) / rate_bps_);
    }

    const Network& network_;
    Channel& channel_;
    std::uint64_t rate_bps_;
    Nanos free_at_ = 0;
};

}  // namespace csaud::sim
