// What a link does to frames that no switch knows of: it loses some, one by one or in bursts, as by bit
// errors, and makes some later than others.
#pragma once

#include <cstdint>
#include <random>

#include "csaud_sim/engine/engine.hpp"
#include "csaud_sim/network/csa_frame.hpp"

namespace csaud::sim {

struct Impairment {
    static constexpr std::uint8_t kAll = 0xFF;

    double loss = 0;              // share of the frames that it is about
    double burst = 1;             // of them lost in a row, on average (Gilbert-Elliott)
    std::uint8_t kinds = kAll;    // bit n: FrameKind n
    std::uint8_t classes = kAll;  // bit n: of CSA frames, criticality class n
    Nanos jitter = 0;             // any frame takes up to this longer, evenly distributed; so they overtake
    std::uint64_t seed = 1;
};

// One of them, at one direction of a link.
class ImpairedLink {
  public:
    // std::invalid_argument where it cannot be.
    explicit ImpairedLink(const Impairment& asked);

    // Each frame once.
    bool loses(FrameBytes frame);
    Nanos extra();

  private:
    bool concerns(FrameBytes frame) const;
    bool chance(double p) { return static_cast<double>(random_() >> 11) * 0x1p-53 < p; }

    Impairment asked_;
    double enter_;  // probability to begin a burst, and to go on with one
    double stay_;
    bool losing_ = false;  // in a burst
    std::mt19937_64 random_;
};

}  // namespace csaud::sim
