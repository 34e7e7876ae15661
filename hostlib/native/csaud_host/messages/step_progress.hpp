// How far the receives of each collective step are (kappa): arrived over expected packets of this rank's
// step. And whether anything was lost of late: if not, there is no reason to hurry at a step's end.
#pragma once

#include <algorithm>
#include <cstdint>

#include "csaud_host/base/flat_map.hpp"
#include "csaud_host/base/pool.hpp"
#include "csaud_host/wire/message_name.hpp"

namespace csaud {

class StepProgress {
  public:
    // A receive of so many packets is posted; returns its step, which it names in what follows.
    std::uint32_t posted(const MessageName& n, std::uint32_t packets) {
        const std::uint32_t* found = by_name_.find(key(n));
        const std::uint32_t i = found != nullptr ? *found : open(key(n));
        steps_[i].expected += packets;
        ++steps_[i].open;
        return i;
    }
    void arrived(std::uint32_t step, std::uint32_t packets) noexcept { steps_[step].arrived += packets; }
    // The receive is over; with the last one the step is forgotten.
    void closed(std::uint32_t step, const MessageName& n) {
        if (--steps_[step].open != 0) return;
        by_name_.erase(key(n));
        steps_.release(step);
    }

    // A packet came that was missing until it was sent again.
    void repaired() noexcept { loss_memory_ = kLossMemory; }
    // A message of so many packets is complete.
    void completed(std::uint32_t packets) noexcept { loss_memory_ -= std::min(packets, loss_memory_); }
    bool lossy() const noexcept { return loss_memory_ != 0; }

    double fraction(std::uint32_t step) const noexcept {
        const Step& s = steps_[step];
        return s.expected == 0 ? 0.0 : static_cast<double>(s.arrived) / s.expected;
    }

  private:
    struct Step {
        std::uint32_t expected = 0;
        std::uint32_t arrived = 0;
        std::uint32_t open = 0;
    };
    // A step is a message's name less its source and chunk.
    static MessageName key(MessageName n) noexcept {
        n.src_rank = n.chunk = 0;
        return n;
    }

    std::uint32_t open(const MessageName& step) {
        const std::uint32_t i = steps_.take();
        steps_[i] = {};
        by_name_.put(step, i);
        return i;
    }

    static constexpr std::uint32_t kLossMemory = 8192;  // packets

    Pool<Step> steps_;
    FlatMap<MessageName, std::uint32_t> by_name_;
    std::uint32_t loss_memory_ = 0;
};

}  // namespace csaud
