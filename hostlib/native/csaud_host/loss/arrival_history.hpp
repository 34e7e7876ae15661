// When a message reached which height, coarsely: what had arrived a given time ago. With it a hole's age is
// known without a record for each hole. A message without holes needs to know its newest arrival alone; the
// samples of one with holes come from a store that all messages of an endpoint share.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "csaud_host/base/sequence.hpp"
#include "csaud_host/base/time.hpp"

namespace csaud {

// The message's heights while arrivals shared one sample.
struct ArrivalSample {
    Nanos first = 0;         // arrivals from here ...
    Nanos last = 0;          // ... to here
    std::uint32_t ts = 0;    // newest tx_ts so far
    std::uint16_t high = 0;  // one more than the highest index so far
};

// The latest samples of one message, the oldest first.
class ArrivalSamples {
  public:
    void clear() noexcept { head_ = size_ = 0; }
    // Arrivals within `spacing` of a sample's first share it.
    void note(const ArrivalSample&, Nanos spacing) noexcept;
    std::size_t size() const noexcept { return size_; }
    const ArrivalSample& at(std::size_t i) const noexcept { return samples_[(head_ + i) % kSamples]; }

  private:
    static constexpr std::size_t kSamples = 8;

    std::array<ArrivalSample, kSamples> samples_{};
    std::uint8_t head_ = 0;
    std::uint8_t size_ = 0;
};

// Samples for messages with holes: a fixed number of them at most, memory taken in slabs when first needed.
class ArrivalStore {
  public:
    // nullptr: all are in use. The message then has its newest arrival alone, so its holes are found later,
    // when arrivals pause.
    ArrivalSamples* take();
    void release(ArrivalSamples* samples) { free_.push_back(samples); }

    std::size_t bytes() const noexcept;

  private:
    static constexpr std::size_t kSlab = 32;
    static constexpr std::size_t kMost = 4096;

    std::vector<std::unique_ptr<ArrivalSamples[]>> slabs_;
    std::vector<ArrivalSamples*> free_;
};

class ArrivalHistory {
  public:
    // Gives the samples back; before the message goes.
    void reset(ArrivalStore&) noexcept;

    // A packet arrived; `high` is the message's height after it, `holes` whether something below is missing.
    void note(const Serial& ts_serial, ArrivalStore& store, Nanos now, std::uint16_t high, std::uint32_t ts,
              bool holes, Nanos spacing) {
        if (!holes && samples_ == nullptr) [[likely]]
            return set(ts_serial, now, high, ts);
        keep_samples(store, holes);
        set(ts_serial, now, high, ts);
        if (samples_ != nullptr) samples_->note(newest(), spacing);
    }

    // The heights as of `cutoff`; nothing had arrived by then where high is 0.
    ArrivalSample as_of(Nanos cutoff) const noexcept;

    // The first moment at which something above index `idx` had arrived for sure; kNever: not yet.
    Nanos passed(std::size_t idx) const noexcept;

    // When something sent later than `ts` had arrived for sure; kNever: not yet.
    Nanos reached(const Serial& ts_serial, std::uint32_t ts) const noexcept;

    bool any() const noexcept { return high_ != 0; }
    Nanos last() const noexcept { return last_; }
    std::uint16_t high() const noexcept { return high_; }

  private:
    static constexpr Nanos kUnderWay = 60 * kSecond;

    void set(const Serial& ts_serial, Nanos now, std::uint16_t high, std::uint32_t ts) noexcept {
        // Time stamps wrap, so one that came long ago may seem the later one; no packet is under way so long.
        const bool none = high_ == 0 || now - last_ > kUnderWay;
        ts_ = none ? ts : ts_serial.later(ts_, ts);
        last_ = now;
        high_ = std::max(high_, high);
    }
    ArrivalSample newest() const noexcept { return {last_, last_, ts_, high_}; }
    // Takes samples where there are holes, beginning with what was before; gives them back where there are
    // none.
    void keep_samples(ArrivalStore&, bool holes);

    // The newest arrival
    Nanos last_ = 0;
    std::uint32_t ts_ = 0;
    std::uint16_t high_ = 0;
    ArrivalSamples* samples_ = nullptr;
};

}  // namespace csaud
