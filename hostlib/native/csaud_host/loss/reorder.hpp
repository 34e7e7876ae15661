// What is known of one peer's reordering: delta and sigma (how late holes fill). Kept per peer, so that a
// message begins with what the one before it learned. What is late on a few of the paths only tells of those
// paths: their packets are better sent again on another than waited for, so nothing is learned of them.
#pragma once

#include <cstdint>

#include "csaud_host/base/time.hpp"

namespace csaud {

class ReorderEstimator {
  public:
    // A hole was filled by its first copy, `late` after the first packet sent later than it, on one of
    // `paths`. False: it tells of that path alone.
    bool filled(Nanos late, std::uint16_t path, std::uint16_t paths) noexcept;

    // A new packet arrived. Every 8 RTT of enough packets half of what was learned is forgotten if nothing
    // was reordered.
    void arrived(Nanos now, Nanos rtt) noexcept {
        if (++packets_ >= kMinPackets && now - period_began_ >= 8 * rtt) begin_period(now, rtt);
    }

    Nanos delta() const noexcept { return delta_; }
    // Before the first reordering, a quarter round trip in all.
    Nanos sigma(Nanos rtt) const noexcept { return measured_ ? sigma_ : rtt / 16; }

  private:
    void begin_period(Nanos now, Nanos rtt) noexcept;

    static constexpr std::uint32_t kMinPackets = 128;  // of a period
    static constexpr unsigned kPaths = 64;             // those beyond share the bits of the first

    Nanos delta_ = 0;
    Nanos sigma_ = 0;
    Nanos period_began_ = 0;
    std::uint64_t late_paths_ = 0;   // in this period, a bit each
    std::uint64_t late_before_ = 0;  // in the one before
    std::uint32_t packets_ = 0;
    bool measured_ = false;
};

}  // namespace csaud
