#include "csaud_host/loss/rtt.hpp"

#include <algorithm>

namespace csaud {
namespace {
constexpr Nanos kWindow = 10 * kSecond;  // clocks drift by 1 ms in it at 100 ppm, routes change in it
}

void RttEstimator::sample(Nanos rtt, Nanos now) noexcept {
    rtt = std::max<Nanos>(rtt, 1);
    if (samples_ == 0) {
        smoothed_ = base_ = coming_base_ = rtt;
        variation_ = rtt / 2;
        window_began_ = now;
    } else {
        const Nanos error = rtt - smoothed_;
        smoothed_ += error / 8;
        variation_ += ((error < 0 ? -error : error) - variation_) / 4;
        coming_base_ = std::min(coming_base_, rtt);
        base_ = std::min(base_, rtt);
        if (now - window_began_ > kWindow) {
            base_ = coming_base_;
            coming_base_ = rtt;
            window_began_ = now;
        }
    }
    sampled_at_ = now;
    if (samples_ != UINT32_MAX) ++samples_;
}

Nanos RttEstimator::patience() const noexcept {
    return std::max(smoothed_ + 4 * variation_, base_ + base_ / 4);
}

std::uint32_t ClockOffset::sample(const Serial& serial, std::uint32_t ours, std::uint32_t theirs,
                                  Nanos now) noexcept {
    const std::uint32_t offset = serial.wrap(ours - theirs);
    if (!known_) {
        known_ = true;
        least_ = coming_least_ = offset;
        window_began_ = now;
    }
    if (serial.distance(least_, offset) < 0) least_ = offset;
    if (serial.distance(coming_least_, offset) < 0) coming_least_ = offset;
    if (now - window_began_ > kWindow) {
        least_ = coming_least_;
        coming_least_ = offset;
        window_began_ = now;
    }
    const std::int32_t late = serial.distance(least_, offset);
    return late > 0 ? static_cast<std::uint32_t>(late) : 0;
}

}  // namespace csaud
