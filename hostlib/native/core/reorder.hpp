// What is known of one peer's reordering: delta and sigma (how late holes fill), and the backoff b that
// spurious retransmissions cause. Kept per peer, so that a message begins with what the one before it
// learned.
#pragma once

#include <cstdint>

#include "message_name.hpp"

namespace csaud {

class ReorderEstimator {
  public:
    // A hole was filled by its first copy, `late` after the first packet sent later than it.
    void filled(Nanos late) noexcept;

    // A packet arrived; `duplicate`: we had it. Every 8 RTT of enough packets, b moves, and half of what was
    // learned is forgotten if nothing was reordered.
    void arrived(bool duplicate, Nanos now, Nanos rtt) noexcept;

    Nanos delta() const noexcept { return delta_; }
    // Before the first reordering, a quarter round trip in all.
    Nanos sigma(Nanos rtt) const noexcept { return measured_ ? sigma_ : rtt / 16; }
    unsigned backoff() const noexcept { return backoff_; }

  private:
    static constexpr unsigned kMaxBackoff = 4;
    static constexpr std::uint32_t kMinPackets =
        128;  // one duplicate among fewer would be over 1 % by itself

    Nanos delta_ = 0;
    Nanos sigma_ = 0;
    Nanos period_began_ = 0;
    std::uint32_t packets_ = 0;
    std::uint32_t duplicates_ = 0;
    unsigned backoff_ = 0;
    bool measured_ = false;
    bool reordered_ = false;  // in this period
};

}  // namespace csaud
