// How far the receives of each collective step are (kappa): arrived over expected packets of this rank's
// step. And whether anything was lost of late: if not, there is no reason to hurry at a step's end.
#pragma once

#include <algorithm>
#include <cstdint>

#include "csaud_host/base/flat_map.hpp"
#include "csaud_host/wire/message_name.hpp"

namespace csaud {

class StepProgress {
  public:
    void posted(const MessageName& n, std::uint32_t packets) {
        Step* step = steps_.find(key(n));
        if (step == nullptr) {
            steps_.put(key(n), {});
            step = steps_.find(key(n));
        }
        step->expected += packets;
        ++step->open;
    }
    void arrived(const MessageName& n, std::uint32_t packets) noexcept {
        if (Step* step = steps_.find(key(n))) step->arrived += packets;
    }
    // The receive is over; with the last one the step is forgotten.
    void closed(const MessageName& n) noexcept {
        Step* step = steps_.find(key(n));
        if (step != nullptr && --step->open == 0) steps_.erase(key(n));
    }

    // A packet came that was missing until it was sent again.
    void repaired() noexcept { loss_memory_ = kLossMemory; }
    // A message of so many packets is complete.
    void completed(std::uint32_t packets) noexcept { loss_memory_ -= std::min(packets, loss_memory_); }
    bool lossy() const noexcept { return loss_memory_ != 0; }

    double fraction(const MessageName& n) const noexcept {
        const Step* step = steps_.find(key(n));
        return step == nullptr || step->expected == 0 ? 0.0
                                                      : static_cast<double>(step->arrived) / step->expected;
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

    static constexpr std::uint32_t kLossMemory = 8192;  // packets

    FlatMap<MessageName, Step> steps_;
    std::uint32_t loss_memory_ = 0;
};

}  // namespace csaud
