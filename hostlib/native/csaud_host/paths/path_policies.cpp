#include <algorithm>
#include <array>
#include <vector>

#include "csaud_host/paths/path_policy.hpp"
#include "csaud_host/paths/path_states.hpp"

namespace csaud {
namespace {

// Paths in turn.
class Round {
  public:
    Round(std::uint16_t paths, std::uint16_t start) noexcept : paths_(paths), next_(start) {}
    std::uint16_t take() noexcept {
        const std::uint16_t path = next_;
        next_ = static_cast<std::uint16_t>((next_ + 1U) % paths_);
        return path;
    }
    std::uint16_t paths() const noexcept { return paths_; }

  private:
    std::uint16_t paths_;
    std::uint16_t next_;
};

class Oblivious final : public PathPolicy {
  public:
    Oblivious(std::uint16_t paths, std::uint16_t start) noexcept : round_(paths, start) {}
    void feedback(std::uint16_t, PathFeedback) override {}
    std::uint16_t next_path(std::uint32_t, std::uint32_t) override { return round_.take(); }
    std::size_t bytes() const noexcept override { return sizeof *this; }

  private:
    Round round_;
};

class Ecmp final : public PathPolicy {
  public:
    Ecmp(std::uint16_t paths, std::uint16_t start) noexcept : round_(paths, start), path_(round_.take()) {}
    void feedback(std::uint16_t path, PathFeedback f) override {
        if (f == PathFeedback::timeout && path == path_) path_ = round_.take();
    }
    std::uint16_t next_path(std::uint32_t, std::uint32_t) override { return path_; }
    std::size_t bytes() const noexcept override { return sizeof *this; }

  private:
    Round round_;
    std::uint16_t path_;
};

class Skipping final : public PathPolicy {
  public:
    Skipping(std::uint16_t paths, std::uint16_t start) : round_(paths, start), points_(paths, 0) {}

    void feedback(std::uint16_t path, PathFeedback f) override {
        const unsigned cost = penalty(f);
        if (cost == 0) return;
        if (points_[path] == 0) ++penalised_;
        points_[path] = static_cast<std::uint8_t>(std::min(kMost, points_[path] + cost));
    }

    std::uint16_t next_path(std::uint32_t, std::uint32_t) override {
        for (unsigned left = round_.paths(); left-- > 0;) {
            const std::uint16_t path = round_.take();
            if (points_[path] == 0) return path;
            forgive(path);
        }
        // All are penalised: the one that is so the least.
        const auto least = std::ranges::min_element(points_);
        return static_cast<std::uint16_t>(least - points_.begin());
    }

    // A packet on it arrived, and makes up for a point.
    void forgive(std::uint16_t path) noexcept {
        if (points_[path] != 0 && --points_[path] == 0) --penalised_;
    }
    // No path is worse than another.
    bool level() const noexcept { return penalised_ == 0; }

    std::size_t bytes() const noexcept override { return sizeof *this + points_.capacity(); }

  private:
    static constexpr unsigned kMost = 255;
    Round round_;
    std::vector<std::uint8_t> points_;
    unsigned penalised_ = 0;  // paths with points
};

// Recycled paths, the oldest first; none is used twice for one packet that arrived.
class Recycling final : public PathPolicy {
  public:
    Recycling(std::uint16_t paths, std::uint16_t start, std::unique_ptr<Skipping> otherwise)
        : explore_(paths, start), else_(std::move(otherwise)) {}

    void feedback(std::uint16_t path, PathFeedback f) override {
        if (else_ != nullptr) else_->feedback(path, f);
        if (f == PathFeedback::good) {
            if (else_ != nullptr) else_->forgive(path);
            if (size_ == kMost) drop_oldest();
            good_[(head_ + size_++) % kMost] = path;
        } else if (f != PathFeedback::ecn) {
            forget(path);
        }
    }

    // The first window goes over all paths, since nothing is known of any.
    std::uint16_t next_path(std::uint32_t seq, std::uint32_t window) override {
        if (seq >= window && size_ != 0 && (else_ == nullptr || !else_->level())) {
            const std::uint16_t path = good_[head_];
            drop_oldest();
            return path;
        }
        return else_ != nullptr ? else_->next_path(seq, window) : explore_.take();
    }

    std::size_t bytes() const noexcept override {
        return sizeof *this + (else_ != nullptr ? else_->bytes() : 0);
    }

  private:
    static constexpr unsigned kMost = 64;

    void drop_oldest() noexcept {
        head_ = (head_ + 1) % kMost;
        --size_;
    }
    void forget(std::uint16_t path) noexcept {
        unsigned kept = 0;
        for (unsigned i = 0; i < size_; ++i) {
            const std::uint16_t other = good_[(head_ + i) % kMost];
            if (other != path) good_[(head_ + kept++) % kMost] = other;
        }
        size_ = kept;
    }

    Round explore_;
    std::unique_ptr<Skipping> else_;
    std::array<std::uint16_t, kMost> good_{};
    unsigned head_ = 0;
    unsigned size_ = 0;
};

}  // namespace

std::unique_ptr<PathPolicy> make_path_policy(PathPolicyName name, std::uint16_t paths, std::uint16_t start) {
    switch (name) {
        case PathPolicyName::oblivious:
            return std::make_unique<Oblivious>(paths, start);
        case PathPolicyName::ecmp:
            return std::make_unique<Ecmp>(paths, start);
        case PathPolicyName::bitmap:
            return std::make_unique<Skipping>(paths, start);
        case PathPolicyName::reps:
            return std::make_unique<Recycling>(paths, start, nullptr);
        case PathPolicyName::mixed:
            return std::make_unique<Recycling>(paths, start, std::make_unique<Skipping>(paths, start));
    }
    return nullptr;
}

}  // namespace csaud
