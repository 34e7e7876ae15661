#include "arrival_history.hpp"

#include <algorithm>

namespace csaud {

void ArrivalHistory::note(const Serial& ts_serial, Nanos now, std::uint16_t high, std::uint32_t ts,
                          Nanos spacing) noexcept {
    if (size_ != 0) {
        Sample& newest = samples_[(head_ + size_ - 1U) % kSamples];
        high = std::max(high, newest.high);
        ts = ts_serial.later(newest.ts, ts);
        if (now - newest.first < spacing) {
            newest.last = now;
            newest.high = high;
            newest.ts = ts;
            return;
        }
    }
    if (size_ == kSamples) {
        head_ = static_cast<std::uint8_t>((head_ + 1) % kSamples);
        --size_;
    }
    samples_[(head_ + size_) % kSamples] = {now, now, high, ts};
    ++size_;
}

const ArrivalHistory::Sample* ArrivalHistory::as_of(Nanos cutoff) const noexcept {
    for (std::size_t i = size_; i-- > 0;) {
        if (at(i).last <= cutoff) return &at(i);
    }
    return nullptr;
}

Nanos ArrivalHistory::passed(std::size_t idx) const noexcept {
    for (std::size_t i = 0; i < size_; ++i) {
        if (at(i).high > idx + 1) return at(i).last;
    }
    return kNever;
}

Nanos ArrivalHistory::reached(const Serial& ts_serial, std::uint32_t ts) const noexcept {
    for (std::size_t i = 0; i < size_; ++i) {
        if (ts_serial.distance(ts, at(i).ts) > 0) return at(i).last;
    }
    return kNever;
}

}  // namespace csaud
