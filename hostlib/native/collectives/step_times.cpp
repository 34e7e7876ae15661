#include "collectives/step_times.hpp"

#include <algorithm>
#include <cmath>

namespace csaud::collectives {

namespace {

constexpr double kMeanGain = 1.0 / 8;  // as for round trips (RFC 6298)
constexpr double kDeviationGain = 1.0 / 4;
constexpr double kDeviations = 4;  // what hardly ever is exceeded

Nanos rounded(double value) {
    return static_cast<Nanos>(std::nearbyint(value));
}

}  // namespace

Expected StepTimes::expect(Nanos began, std::size_t step) const {
    if (step >= steps_.size()) return {};
    const auto at = static_cast<double>(began);
    Expected expected;
    expected.due = rounded(at + steps_[step].mean + kDeviations * steps_[step].deviation);
    if (step == 0) return expected;
    expected.start = std::max<Nanos>(rounded(at + steps_[step - 1].mean), 1);
    expected.jitter = rounded(steps_[step - 1].deviation);
    return expected;
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
