// Whether anything was lost of late of which no switch told: if not, nothing is gained by haste.
#pragma once

#include <algorithm>
#include <cstdint>

namespace csaud {

class LossMemory {
  public:
    // A packet came that was missing until it was sent again.
    void repaired() noexcept { left_ = kPackets; }
    // A message of so many packets is complete.
    void completed(std::uint32_t packets) noexcept { left_ -= std::min(packets, left_); }
    bool lossy() const noexcept { return left_ != 0; }

  private:
    static constexpr std::uint32_t kPackets = 8192;

    std::uint32_t left_ = 0;
};

}  // namespace csaud
