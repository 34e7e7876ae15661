// How long the latest messages took from their first packet to the last one.
#pragma once

#include <cstddef>
#include <vector>

#include "csaud_host/base/time.hpp"

namespace csaud::collectives {

class FlowTimes {
  public:
    static constexpr std::size_t kKept = 100'000;

    void add(Nanos took) {
        if (times_.size() < kKept) {
            times_.push_back(took);
            return;
        }
        times_[oldest_] = took;
        oldest_ = (oldest_ + 1) % kKept;
    }

    // In the order in which they ended.
    std::vector<Nanos> all() const {
        std::vector<Nanos> found(times_.begin() + static_cast<std::ptrdiff_t>(oldest_), times_.end());
        found.insert(found.end(), times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(oldest_));
        return found;
    }

  private:
    std::vector<Nanos> times_;
    std::size_t oldest_ = 0;
};

}  // namespace csaud::collectives
