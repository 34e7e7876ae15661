// How often which values came, within 1.6 % of each: 32 steps an octave.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace csaud::sim {

class Histogram {
  public:
    void add(std::uint64_t value) {
        const std::size_t at = place(value);
        if (at >= counts_.size()) counts_.resize(at + 1);
        ++counts_[at];
        ++all_;
    }

    std::uint64_t count() const { return all_; }

    // The least value that `share` of all do not exceed (0.99: p99), 0 of none.
    std::uint64_t percentile(double share) const {
        const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(all_)));
        std::uint64_t seen = 0;
        for (std::size_t at = 0; at < counts_.size(); ++at) {
            seen += counts_[at];
            if (seen >= wanted && seen > 0) return value(at);
        }
        return 0;
    }

  private:
    static constexpr unsigned kSteps = 32;

    static std::size_t place(std::uint64_t value) {
        if (value < 2 * kSteps) return value;
        const auto octave = static_cast<unsigned>(std::bit_width(value)) - 6;
        return octave * kSteps + (value >> octave);
    }
    // The middle of what has this place.
    static std::uint64_t value(std::size_t place) {
        if (place < 2 * kSteps) return place;
        const unsigned octave = static_cast<unsigned>(place / kSteps) - 1;
        const std::uint64_t step = place % kSteps + kSteps;
        return (step << octave) + (std::uint64_t{1} << octave) / 2;
    }

    std::vector<std::uint32_t> counts_;
    std::uint64_t all_ = 0;
};

}  // namespace csaud::sim
