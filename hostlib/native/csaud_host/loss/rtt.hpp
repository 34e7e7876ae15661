// Round trips to one peer, and how late a control packet of it is.
#pragma once

#include <cstdint>

#include "csaud_host/base/sequence.hpp"
#include "csaud_host/base/time.hpp"

namespace csaud {

// Clocks drift by 1 ms in it at 100 ppm, routes change in it.
inline constexpr Nanos kRttWindow = 10 * kSecond;

class RttEstimator {
  public:
    explicit RttEstimator(Nanos initial = 0) noexcept
        : smoothed_(initial), variation_(initial / 2), base_(initial) {}

    void sample(Nanos rtt, Nanos now) noexcept;

    bool measured() const noexcept { return samples_ != 0; }
    bool settled() const noexcept { return samples_ >= 8; }
    Nanos last_sample() const noexcept { return sampled_at_; }
    // RTT_b: the least of the last 10 to 20 s, queues being empty at times.
    Nanos base() const noexcept { return base_; }
    Nanos smoothed() const noexcept { return smoothed_; }
    // What a round trip hardly exceeds (RFC 6298 without its floor of a second, at least 1.25 RTT_b).
    Nanos patience() const noexcept;

  private:
    Nanos smoothed_;
    Nanos variation_;
    Nanos base_;
    Nanos coming_base_ = kNever;  // least of the window that is filling
    Nanos window_began_ = 0;
    Nanos sampled_at_ = 0;
    std::uint32_t samples_ = 0;
};

// Least difference (our clock - the peer's clock) over a window: one-way delay plus an unknown constant. What
// a packet shows above it, it spent in queues, its sender's and our own sockets included.
class ClockOffset {
  public:
    // `ours`, `theirs`: ticks that wrap as `serial` says. Returns how many ticks late the packet is.
    std::uint32_t sample(const Serial& serial, std::uint32_t ours, std::uint32_t theirs, Nanos now) noexcept {
        const std::uint32_t offset = serial.wrap(ours - theirs);
        // The same as the last one, within the window: nothing changes.
        if (offset == offset_ && now <= window_ends_) [[likely]]
            return late_;
        return take(serial, offset, now);
    }

    bool known() const noexcept { return known_; }

    // The peer's clock when it sent what arrives at our `ours` without any queueing.
    std::uint32_t sent_at(const Serial& serial, std::uint32_t ours) const noexcept {
        return serial.wrap(ours - least_);
    }

  private:
    std::uint32_t take(const Serial& serial, std::uint32_t offset, Nanos now) noexcept;

    std::uint32_t offset_ = 0;  // of the last packet
    std::uint32_t late_ = 0;    // it was
    std::uint32_t least_ = 0;
    std::uint32_t coming_least_ = 0;
    Nanos window_ends_ = -1;  // over before the first packet
    bool known_ = false;
};

inline std::uint32_t ClockOffset::take(const Serial& serial, std::uint32_t offset, Nanos now) noexcept {
    if (!known_) {
        known_ = true;
        least_ = coming_least_ = offset;
        window_ends_ = now + kRttWindow;
    }
    if (serial.distance(least_, offset) < 0) least_ = offset;
    if (serial.distance(coming_least_, offset) < 0) coming_least_ = offset;
    if (now > window_ends_) {
        least_ = coming_least_;
        coming_least_ = offset;
        window_ends_ = now + kRttWindow;
    }
    const std::int32_t late = serial.distance(least_, offset);
    offset_ = offset;
    late_ = late > 0 ? static_cast<std::uint32_t>(late) : 0;
    return late_;
}

// How much longer than control packets the DATA of a peer stands in queues.
class QueueingEstimator {
  public:
    void sample(Nanos late) noexcept {
        if (late == settled_) return;
        const Nanos was_mean = mean_, was_deviation = deviation_;
        const Nanos error = late - mean_;
        mean_ += error / 8;
        deviation_ += ((error < 0 ? -error : error) - deviation_) / 4;
        settled_ = mean_ == was_mean && deviation_ == was_deviation ? late : kNever;
    }
    // What it hardly exceeds.
    Nanos allowance() const noexcept { return mean_ + 4 * deviation_; }

  private:
    Nanos mean_ = 0;
    Nanos deviation_ = 0;
    Nanos settled_ = kNever;  // one more sample like this changes nothing
};

}  // namespace csaud
