#include "csaud_host/paths/peer_paths.hpp"

#include <algorithm>

namespace csaud {

PeerPaths::PeerPaths(PathPolicyName name, std::uint16_t paths, std::uint32_t start, std::uint16_t rank,
                     const DeniedPaths& denied, SharedPaths& all, SharedPaths& subnet)
    : denied_(&denied),
      all_(&all),
      subnet_(&subnet),
      policy_(make_path_policy(name, paths, static_cast<std::uint16_t>(start % paths))),
      states_(paths),
      owed_(paths, 0),
      control_(static_cast<std::uint16_t>(start % paths)),
      rank_(rank),
      passed_(rank),
      adapts_(name != PathPolicyName::oblivious && name != PathPolicyName::ecmp) {}

std::uint16_t PeerPaths::usable_from(std::uint16_t path) const noexcept {
    std::uint16_t found = path;
    do {
        if (usable(found)) return found;
        found = after(found);
    } while (found != path);
    return path;
}

std::uint16_t PeerPaths::next(std::uint32_t window) {
    // A policy that insists on a path that is not wanted is asked again a few times: its round moves on.
    constexpr int kAttempts = 4;
    std::uint16_t path = policy_->next_path(seq_++, window);
    for (int i = 0; i < kAttempts && !wanted(path); ++i) path = policy_->next_path(seq_, window);
    return usable_from(path);
}

std::uint16_t PeerPaths::next_other(std::uint16_t lost) {
    std::uint16_t path = next_control();
    for (std::size_t i = 1; i < owed_.size() && (path == lost || state(path) != PathState::good); ++i)
        path = next_control();
    return path == lost ? usable_from(after(lost)) : path;
}

std::uint16_t PeerPaths::next_control() {
    const std::uint16_t path = usable_from(control_);
    control_ = after(path);
    return path;
}

void PeerPaths::arrived(std::uint16_t path, std::uint8_t attempt) {
    if (owed_[path] != 0) {
        --owed_[path];
        return;
    }
    all_->arrived(path);
    subnet_->arrived(path);
    states_.feedback(path, PathFeedback::good);
    if (attempt == 0) policy_->feedback(path, PathFeedback::good);
}

void PeerPaths::marked(std::uint16_t path, std::uint16_t marks) {
    owed_[path] =
        static_cast<std::uint16_t>(std::min<std::uint32_t>(UINT16_MAX, owed_[path] + std::uint32_t{marks}));
    failed(path);
    states_.feedback(path, PathFeedback::ecn);
    policy_->feedback(path, PathFeedback::ecn);
}

bool PeerPaths::lost(std::uint16_t path, std::uint8_t attempt, PathFeedback f) {
    failed(path);
    if (f == PathFeedback::nack || states_.suspect(path))
        policy_->feedback(path, f);
    else if (attempt == 0)
        policy_->feedback(path, PathFeedback::good);
    return states_.feedback(path, f);
}

std::uint16_t PeerPaths::next_bad() noexcept {
    do {
        probed_ = after(probed_);
    } while (!states_.bad(probed_));
    return probed_;
}

std::size_t PeerPaths::bytes() const noexcept {
    return (policy_ != nullptr ? policy_->bytes() : 0) + states_.bytes() +
           owed_.capacity() * sizeof(std::uint16_t);
}

}  // namespace csaud
