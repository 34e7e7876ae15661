#include "csaud_host/loss/arrival_history.hpp"

#include <algorithm>

namespace csaud {

void ArrivalSamples::note(const ArrivalSample& sample, Nanos spacing) noexcept {
    if (size_ != 0) {
        ArrivalSample& newest = samples_[(head_ + size_ - 1U) % kSamples];
        if (sample.last - newest.first < spacing) {
            newest.last = sample.last;
            newest.high = sample.high;
            newest.ts = sample.ts;
            return;
        }
    }
    if (size_ == kSamples) {
        head_ = static_cast<std::uint8_t>((head_ + 1) % kSamples);
        --size_;
    }
    samples_[(head_ + size_) % kSamples] = sample;
    ++size_;
}

ArrivalSamples* ArrivalStore::take() {
    if (free_.empty()) {
        if (slabs_.size() * kSlab >= kMost) return nullptr;
        slabs_.push_back(std::make_unique<ArrivalSamples[]>(kSlab));
        for (std::size_t i = 0; i < kSlab; ++i) free_.push_back(&slabs_.back()[i]);
    }
    ArrivalSamples* samples = free_.back();
    free_.pop_back();
    samples->clear();
    return samples;
}

std::size_t ArrivalStore::bytes() const noexcept {
    return slabs_.size() * kSlab * sizeof(ArrivalSamples) + free_.capacity() * sizeof(ArrivalSamples*);
}

void ArrivalHistory::reset(ArrivalStore& store) noexcept {
    if (samples_ != nullptr) store.release(samples_);
    *this = {};
}

void ArrivalHistory::keep_samples(ArrivalStore& store, bool holes) {
    if (!holes) {
        store.release(samples_);
        samples_ = nullptr;
    } else if (samples_ == nullptr) {
        samples_ = store.take();
        if (samples_ != nullptr && any()) samples_->note(newest(), 0);
    }
}

ArrivalSample ArrivalHistory::as_of(Nanos cutoff) const noexcept {
    if (high_ != 0 && last_ <= cutoff) return newest();
    for (std::size_t i = samples_ == nullptr ? 0 : samples_->size(); i-- > 0;) {
        if (samples_->at(i).last <= cutoff) return samples_->at(i);
    }
    return {};
}

Nanos ArrivalHistory::passed(std::size_t idx) const noexcept {
    for (std::size_t i = 0; samples_ != nullptr && i < samples_->size(); ++i) {
        if (samples_->at(i).high > idx + 1) return samples_->at(i).last;
    }
    return high_ > idx + 1 ? last_ : kNever;
}

Nanos ArrivalHistory::reached(const Serial& ts_serial, std::uint32_t ts) const noexcept {
    for (std::size_t i = 0; samples_ != nullptr && i < samples_->size(); ++i) {
        if (ts_serial.distance(ts, samples_->at(i).ts) > 0) return samples_->at(i).last;
    }
    return high_ != 0 && ts_serial.distance(ts, ts_) > 0 ? last_ : kNever;
}

}  // namespace csaud
