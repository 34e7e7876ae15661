// Which packets of a connection have arrived, in whatever order.
#pragma once

#include <cstdint>

#include "csaud_host/base/ring_queue.hpp"

namespace csaud::sim::baselines {

class ArrivalWindow {
  public:
    bool has(std::uint32_t seq) {
        return seq < next_ || (seq - next_ < arrived_.size() && arrived_.at(seq - next_) != 0);
    }
    // False: it had arrived before, or lies too far beyond the first hole.
    bool take(std::uint32_t seq) {
        if (has(seq) || seq - next_ >= kFarthest) return false;
        while (arrived_.size() <= seq - next_) arrived_.push(0);
        arrived_.at(seq - next_) = 1;
        ++count_;
        for (; !arrived_.empty() && arrived_.front() != 0; ++next_) arrived_.pop();
        return true;
    }
    // The first that is missing.
    std::uint32_t next() const { return next_; }
    std::uint32_t count() const { return count_; }

  private:
    static constexpr std::uint32_t kFarthest = 1U << 16;

    RingQueue<std::uint8_t> arrived_;  // from next_ on, as far as any has
    std::uint32_t next_ = 0;
    std::uint32_t count_ = 0;
};

}  // namespace csaud::sim::baselines
