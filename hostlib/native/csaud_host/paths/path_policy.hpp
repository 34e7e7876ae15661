// Which path the next packet takes. A policy has two methods: what became of packets goes in, paths come out.
// It knows nothing of peers, messages or time; which paths may not be used at all is not its matter either
// (path_states.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

namespace csaud {

enum class PathFeedback : std::uint8_t {
    good,     // a packet arrived unmarked
    ecn,      // it arrived with a congestion mark
    nack,     // it was lost for want of room, as a switch told
    missing,  // it was lost, as the receiver told
    timeout,  // it was lost, and nobody told
};

enum class PathPolicyName : std::uint8_t { oblivious, ecmp, bitmap, reps, mixed };

struct PathPolicyKind {
    PathPolicyName name;
    const char* word;  // by which users choose it
    const char* about;
};
inline constexpr std::array kPathPolicies{
    PathPolicyKind{PathPolicyName::oblivious, "oblivious", "round robin over all paths"},
    PathPolicyKind{PathPolicyName::ecmp, "ecmp", "one path, another one when a packet timed out"},
    PathPolicyKind{PathPolicyName::bitmap, "bitmap",
                   "round robin that passes over a path once for each penalty point"},
    PathPolicyKind{PathPolicyName::reps, "reps", "paths on which packets arrived unmarked are used again"},
    PathPolicyKind{PathPolicyName::mixed, "mixed",
                   "all in turn while they are alike; else reps, and bitmap where none is to be used again"},
};

class PathPolicy {
  public:
    PathPolicy() = default;
    virtual ~PathPolicy() = default;
    PathPolicy(const PathPolicy&) = delete;
    PathPolicy& operator=(const PathPolicy&) = delete;

    virtual void feedback(std::uint16_t path, PathFeedback) = 0;
    // `seq`: number of the packet, of all to this peer; `window`: packets that may be under way.
    virtual std::uint16_t next_path(std::uint32_t seq, std::uint32_t window) = 0;

    virtual std::size_t bytes() const noexcept = 0;
};

// `start`: where the round begins; ranks begin at different paths, so that they do not meet on the same one.
std::unique_ptr<PathPolicy> make_path_policy(PathPolicyName, std::uint16_t paths, std::uint16_t start);

}  // namespace csaud
