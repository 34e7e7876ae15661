// The paths to one peer: its policy, and which paths are usable.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "csaud_host/paths/path_policy.hpp"
#include "csaud_host/paths/path_states.hpp"
#include "csaud_host/paths/shared_paths.hpp"

namespace csaud {

// Paths that no peer's packets may take, by path_id.
using DeniedPaths = std::vector<bool>;

class PeerPaths {
  public:
    PeerPaths() = default;
    PeerPaths(PathPolicyName, std::uint16_t paths, std::uint32_t start, std::uint16_t rank,
              const DeniedPaths&, SharedPaths& all, SharedPaths& subnet);

    // For a packet of data.
    std::uint16_t next(std::uint32_t window);
    // For a copy sent again: not the path on which the last one was lost, where there is another, and one on
    // which nothing was lost, where there is one. The policy is not asked, so that its round goes on as if
    // nothing had been lost: senders whose rounds do not meet go on not meeting.
    std::uint16_t next_other(std::uint16_t lost);
    // For control packets, which are no concern of the policy: usable paths in turn.
    std::uint16_t next_control();

    // A packet on the path arrived, as the receiver says. Marks that were told of go against such packets.
    // The policy has no part in a retransmission, and hears of first copies alone.
    void arrived(std::uint16_t path, std::uint8_t attempt);
    void marked(std::uint16_t path, std::uint16_t marks);
    // A packet on the path was lost; true: the path is assumed bad from now on. One that no switch told of
    // may have been lost anywhere: the policy hears that it arrived, unless the path is suspect.
    bool lost(std::uint16_t path, std::uint8_t attempt, PathFeedback);
    void answered(std::uint16_t path) noexcept { states_.answered(path); }

    PathState state(std::uint16_t path) const noexcept { return states_.state(path, (*denied_)[path]); }
    bool any_bad() const noexcept { return states_.any_bad(); }
    // The next path that is assumed bad, in turn; there is one.
    std::uint16_t next_bad() noexcept;

    std::size_t bytes() const noexcept;

  private:
    bool usable(std::uint16_t path) const noexcept { return !states_.bad(path) && !(*denied_)[path]; }
    // Whether the next packet takes it, as far as other peers' packets tell. One in eight finds out whether
    // that is still so.
    bool wanted(std::uint16_t path) noexcept {
        if (!usable(path)) return false;
        return !adapts_ || !(all_->poor(path) || subnet_->poor(path)) || ++passed_ % 8 == 0;
    }
    // A packet was lost or came marked.
    void failed(std::uint16_t path) noexcept {
        all_->failed(path, rank_);
        subnet_->failed(path, rank_);
    }
    // `path`, or the next usable one.
    std::uint16_t usable_from(std::uint16_t path) const noexcept;
    std::uint16_t after(std::uint16_t path) const noexcept {
        return static_cast<std::uint16_t>((path + 1U) % owed_.size());
    }

    const DeniedPaths* denied_ = nullptr;
    SharedPaths* all_ = nullptr;
    SharedPaths* subnet_ = nullptr;
    std::unique_ptr<PathPolicy> policy_;
    PathStates states_;
    std::vector<std::uint16_t>
        owed_;  // by path: marks told of whose packets were not yet said to have arrived
    std::uint32_t seq_ = 0;
    std::uint16_t control_ = 0;
    std::uint16_t rank_ = 0;
    std::uint16_t passed_ = 0;
    bool adapts_ = false;  // the policy hears of marks
    std::uint16_t probed_ = 0;
};

}  // namespace csaud
