#include "reorder.hpp"

#include <algorithm>

namespace csaud {

void ReorderEstimator::filled(Nanos late) noexcept {
    reordered_ = true;
    if (!measured_) {
        measured_ = true;
        delta_ = late;
        sigma_ = late / 2;
        return;
    }
    const Nanos error = late - delta_;
    delta_ += error / 8;
    sigma_ += ((error < 0 ? -error : error) - sigma_) / 4;
}

void ReorderEstimator::arrived(bool duplicate, Nanos now, Nanos rtt) noexcept {
    ++packets_;
    if (duplicate) ++duplicates_;
    if (packets_ < kMinPackets || now - period_began_ < 8 * rtt) return;
    if (!reordered_) {
        delta_ /= 2;
        sigma_ = std::max(sigma_ / 2, rtt / 16);
    }
    reordered_ = false;
    if (duplicates_ * 100ULL > packets_ && backoff_ < kMaxBackoff) {
        ++backoff_;
    } else if (duplicates_ * 400ULL < packets_ && backoff_ > 0) {
        --backoff_;
    }
    packets_ = duplicates_ = 0;
    period_began_ = now;
}

}  // namespace csaud
