#include "csaud_host/loss/rtt.hpp"

#include <algorithm>

namespace csaud {

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
        if (now - window_began_ > kRttWindow) {
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

}  // namespace csaud
