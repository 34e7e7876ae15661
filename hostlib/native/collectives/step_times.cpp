#include "collectives/step_times.hpp"

#include <algorithm>
#include <cmath>

namespace csaud::collectives {

namespace {

constexpr double kMeanGain = 1.0 / 8;  // as for round trips (RFC 6298)
constexpr double kDeviationGain = 1.0 / 4;

Nanos rounded(double value) {
    return static_cast<Nanos>(std::nearbyint(value));
}

}  // namespace

Expected StepTimes::expect(Nanos began, std::size_t step) const {
    if (step == 0 || step >= steps_.size()) return {};
    const Step& before = steps_[step - 1];
    return {std::max<Nanos>(rounded(static_cast<double>(began) + before.mean), 1), rounded(before.deviation)};
}

void StepTimes::learn(Nanos began, std::span<const Nanos> ended) {
    const bool first = ended.size() != steps_.size();
    steps_.resize(ended.size());
    double took = 0;  // no step ends before the one before it
    for (std::size_t i = 0; i < ended.size(); ++i) {
        took = std::max(took, static_cast<double>(std::max<Nanos>(0, ended[i] - began)));
        Step& step = steps_[i];
        if (first) {
            step = {took, took / 2};
            continue;
        }
        const double error = took - step.mean;
        step.mean += kMeanGain * error;
        step.deviation += kDeviationGain * (std::abs(error) - step.deviation);
    }
}

}  // namespace csaud::collectives
