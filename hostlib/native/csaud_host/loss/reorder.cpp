#include "csaud_host/loss/reorder.hpp"

#include <algorithm>
#include <bit>

namespace csaud {

bool ReorderEstimator::filled(Nanos late, std::uint16_t path, std::uint16_t paths) noexcept {
    late_paths_ |= std::uint64_t{1} << (path % kPaths);
    const auto count = static_cast<unsigned>(std::popcount(late_paths_ | late_before_));
    if (2 * count < std::min<unsigned>(paths, kPaths)) return false;
    if (!measured_) {
        measured_ = true;
        delta_ = late;
        sigma_ = late / 2;
        return true;
    }
    const Nanos error = late - delta_;
    delta_ += error / 8;
    sigma_ += ((error < 0 ? -error : error) - sigma_) / 4;
    return true;
}

void ReorderEstimator::begin_period(Nanos now, Nanos rtt) noexcept {
    if (late_paths_ == 0) {
        delta_ /= 2;
        sigma_ = std::max(sigma_ / 2, rtt / 16);
    }
    late_before_ = late_paths_;
    late_paths_ = 0;
    packets_ = 0;
    period_began_ = now;
}

}  // namespace csaud
