// What earlier runs of a collective took, step by step, and so when each message of the next one is expected.
//
// The endpoint needs it to know how long to wait for a message's first packet before asking for it. Being
// wrong costs a control packet, never a result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "csaud_host/base/time.hpp"

namespace csaud::collectives {

// When a message is expected, on the endpoint's clock.
struct Expected {
    Nanos start = 0;   // of its first packet; 0 where that is not known
    Nanos jitter = 0;  // deviation of `start`

    friend bool operator==(const Expected&, const Expected&) = default;
};

// When the steps of one schedule end, after its begin: mean and deviation over its runs.
class StepTimes {
  public:
    // Of a message of `step` in a run that began at `began`: it starts where the step before ends.
    Expected expect(Nanos began, std::size_t step) const;
    // A run is over; `ended` holds when each step did (0: nothing was received in it).
    void learn(Nanos began, std::span<const Nanos> ended);

  private:
    struct Step {
        double mean = 0;
        double deviation = 0;
    };
    std::vector<Step> steps_;
};

}  // namespace csaud::collectives
