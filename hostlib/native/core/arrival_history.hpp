// When a message reached which height, coarsely: what had arrived a given time ago. With it a hole's age is
// known without a record for each hole.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "message_name.hpp"
#include "sequence.hpp"

namespace csaud {

class ArrivalHistory {
  public:
    struct Sample {
        Nanos first = 0;         // arrivals from here ...
        Nanos last = 0;          // ... to here make one sample
        std::uint16_t high = 0;  // one more than the highest index so far
        std::uint32_t ts = 0;    // newest tx_ts so far
    };

    void reset() noexcept { size_ = head_ = 0; }

    // A packet arrived; `high` and `ts` are the message's heights after it. Arrivals within `spacing` share a
    // sample.
    void note(const Serial& ts_serial, Nanos now, std::uint16_t high, std::uint32_t ts,
              Nanos spacing) noexcept;

    // The heights as of `cutoff`; nullptr: nothing had arrived by then.
    const Sample* as_of(Nanos cutoff) const noexcept;

    // The first moment at which something above index `idx` had arrived for sure; kNever: not yet.
    Nanos passed(std::size_t idx) const noexcept;

    // When something sent later than `ts` had arrived for sure; kNever: not yet.
    Nanos reached(const Serial& ts_serial, std::uint32_t ts) const noexcept;

    const Sample* newest() const noexcept { return size_ == 0 ? nullptr : &at(size_ - 1); }

  private:
    static constexpr std::size_t kSamples = 8;

    const Sample& at(std::size_t i) const noexcept { return samples_[(head_ + i) % kSamples]; }

    std::array<Sample, kSamples> samples_{};
    std::uint8_t head_ = 0;
    std::uint8_t size_ = 0;
};

}  // namespace csaud
