// Which paths to a peer may be used at all, whatever the policy.
//
//   GOOD         used
//   SKIP         penalised, still used: how much less is the policy's matter
//   ASSUMED_BAD  more was lost on it than arrived: not used, but probed until it answers
//   DENIED       not used, as the controller wishes
//
// What is lost on most paths alike is not lost for the paths' sake (an incast), so at most half of them are
// assumed bad. Where nothing else is left, any path is used.
#pragma once

#include <cstdint>
#include <vector>

#include "csaud_host/paths/path_policy.hpp"

namespace csaud {

// Points that feedback costs a path; each packet that arrives takes one back.
constexpr unsigned penalty(PathFeedback f) noexcept {
    switch (f) {
        case PathFeedback::good:
            return 0;
        case PathFeedback::ecn:
            return 1;
        case PathFeedback::nack:
        case PathFeedback::missing:
            return 4;
        case PathFeedback::timeout:
            return 15;
    }
    return 0;
}

enum class PathState : std::uint8_t { good, skip, assumed_bad, denied };

class PathStates {
  public:
    explicit PathStates(std::uint16_t paths = 1) : points_(paths, 0), bad_(paths, false) {}

    // True if the path is assumed bad from now on.
    bool feedback(std::uint16_t path, PathFeedback f) noexcept {
        std::uint8_t& p = points_[path];
        if (f == PathFeedback::good) {
            if (p != 0) --p;
            return false;
        }
        p = static_cast<std::uint8_t>(p + penalty(f) > kMost ? kMost : p + penalty(f));
        if (f == PathFeedback::ecn || p < kBad || bad_[path] || 2 * (bad_count_ + 1U) > bad_.size())
            return false;
        bad_[path] = true;
        ++bad_count_;
        return true;
    }
    // A probe on the path was answered.
    void answered(std::uint16_t path) noexcept {
        if (bad_[path]) --bad_count_;
        bad_[path] = false;
        points_[path] = 0;
    }

    // What was lost or marked was not yet made up for by what arrived.
    bool suspect(std::uint16_t path) const noexcept { return points_[path] != 0; }
    bool bad(std::uint16_t path) const noexcept { return bad_[path]; }
    bool any_bad() const noexcept { return bad_count_ != 0; }
    PathState state(std::uint16_t path, bool denied) const noexcept {
        if (denied) return PathState::denied;
        if (bad_[path]) return PathState::assumed_bad;
        return suspect(path) ? PathState::skip : PathState::good;
    }
    std::size_t bytes() const noexcept { return points_.capacity() + bad_.capacity() / 8; }

  private:
    static constexpr unsigned kMost = 64;
    static constexpr unsigned kBad = 32;  // eight losses with nothing that arrived between them

    std::vector<std::uint8_t> points_;
    std::vector<bool> bad_;
    std::uint16_t bad_count_ = 0;
};

}  // namespace csaud
