#include <algorithm>

#include "csaud_switch/model/state.hpp"

namespace csaud::sw {

void Meter::configure(const std::optional<MeterRates>& rates) {
    rates_ = rates;
    if (!rates) return;
    committed_ = {rates->cir / 1e6, rates->cburst, rates->cburst, 0};
    peak_ = {rates->pir / 1e6, rates->pburst, rates->pburst, 0};
}

bool Meter::Bucket::take(std::uint64_t amount, std::uint64_t now_us) {
    const auto since_start = static_cast<std::uint64_t>(static_cast<double>(now_us) * per_us);
    // A clock that was set back gives nothing and takes nothing.
    const std::uint64_t fresh = since_start > counted ? since_start - counted : 0;
    counted = since_start;
    tokens = fresh >= size || tokens + fresh >= size ? size : tokens + fresh;
    if (tokens < amount) return false;
    tokens -= amount;
    return true;
}

unsigned Meter::execute(std::uint64_t amount, std::uint64_t now_us) {
    if (!rates_) return 0;
    if (!peak_.take(amount, now_us)) return 2;
    return committed_.take(amount, now_us) ? 0 : 1;
}

}  // namespace csaud::sw
