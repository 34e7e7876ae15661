#include "csaud_sim/baselines/path_policy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "csaud_sim/baselines/splitmix.hpp"

namespace csaud::sim::baselines {

namespace {

// Every value once a round; rounds differ by what their numbers are combined with.
class Rounds {
  public:
    Rounds(std::uint16_t paths, std::uint64_t seed)
        : random_(seed),
          mask_(static_cast<std::uint16_t>(paths - 1)),
          // Bits that tell connections apart where switches hash.
          high_(static_cast<std::uint16_t>(random_.next() & static_cast<std::uint16_t>(~mask_))),
          turn_(drawn()) {}

    std::uint16_t low() const { return static_cast<std::uint16_t>((place_ ^ turn_) & mask_); }
    std::uint16_t full(std::uint16_t low) const { return static_cast<std::uint16_t>(low | high_); }
    std::uint16_t index(std::uint16_t path) const { return static_cast<std::uint16_t>(path & mask_); }
    std::size_t paths() const { return std::size_t{mask_} + 1; }
    void step() {
        if (place_++ != mask_) return;
        place_ = 0;
        turn_ = drawn();
    }

  private:
    std::uint16_t drawn() { return static_cast<std::uint16_t>(random_.next() & mask_); }

    SplitMix random_;
    std::uint16_t mask_, high_;
    std::uint16_t turn_, place_ = 0;
};

class Oblivious final : public PathPolicy {
  public:
    Oblivious(std::uint16_t paths, std::uint64_t seed) : rounds_(paths, seed) {}
    std::uint16_t next(Nanos) override {
        const std::uint16_t path = rounds_.full(rounds_.low());
        rounds_.step();
        return path;
    }
    void learn(std::uint16_t, PathNews, Nanos) override {}

  private:
    Rounds rounds_;
};

class Bitmap final : public PathPolicy {
  public:
    Bitmap(std::uint16_t paths, std::uint64_t seed) : rounds_(paths, seed), skips_(paths) {}

    // Of the values that are passed over, the first one is forgiven a step, so that each of them is tried
    // again after as many packets as it has steps.
    std::uint16_t next(Nanos) override {
        if (std::uint8_t& first = skips_[rounds_.low()]; first > 0) {
            --first;
            for (std::size_t tries = 0; tries < rounds_.paths(); ++tries) {
                rounds_.step();
                if (skips_[rounds_.low()] == 0) break;
            }
        }
        const std::uint16_t path = rounds_.full(rounds_.low());
        rounds_.step();
        return path;
    }

    void learn(std::uint16_t path, PathNews news, Nanos) override {
        std::uint8_t& skips = skips_[rounds_.index(path)];
        skips = static_cast<std::uint8_t>(std::min<int>(skips + steps(news), kMost));
    }

  private:
    static constexpr int kMost = 15;
    static int steps(PathNews news) {
        switch (news) {
            case PathNews::marked:
                return 1;
            case PathNews::trimmed:
                return 4;
            default:  // of a timeout, it is not known which value it was
                return 0;
        }
    }

    Rounds rounds_;
    std::vector<std::uint8_t> skips_;
};

// Recycled entropies. After a timeout what is known is used over and over ("frozen") for a while, then
// forgotten.
class Reps final : public PathPolicy {
  public:
    Reps(std::uint16_t paths, std::uint64_t seed) : random_(seed), paths_(paths) {}

    std::uint16_t next(Nanos) override {
        if (explore_ > 0) {
            --explore_;
            return drawn();
        }
        if (frozen_) return known_ == 0 ? drawn() : again();
        if (fresh_ == 0) return drawn();
        return ring_[(head_ + kKept - fresh_--) % kKept];
    }

    void learn(std::uint16_t path, PathNews news, Nanos now) override {
        if (news == PathNews::timeout && !frozen_ && explore_ == 0) {
            frozen_ = true;
            thaw_at_ = now + kFrozenFor;
        }
        if (frozen_ && now > thaw_at_) {
            frozen_ = false;
            head_ = known_ = fresh_ = at_ = 0;
            explore_ = kExplored;
        }
        if (news != PathNews::good) return;
        ring_[head_] = path;
        head_ = (head_ + 1) % kKept;
        fresh_ = std::min(fresh_ + 1, kKept);
        known_ = std::min(known_ + 1, kKept);
    }

  private:
    static constexpr std::size_t kKept = 8;
    static constexpr int kExplored = 16;
    static constexpr Nanos kFrozenFor = 10'000'000;

    std::uint16_t drawn() { return static_cast<std::uint16_t>(random_.below(paths_)); }
    std::uint16_t again() {
        at_ %= known_;
        if (fresh_ > 0) --fresh_;
        return ring_[at_++];
    }

    SplitMix random_;
    std::uint16_t paths_;
    std::array<std::uint16_t, kKept> ring_{};
    std::size_t head_ = 0, known_ = 0, fresh_ = 0, at_ = 0;
    bool frozen_ = false;
    Nanos thaw_at_ = 0;
    int explore_ = 0;
};

class Mixed final : public PathPolicy {
  public:
    Mixed(std::uint16_t paths, std::uint64_t seed) : bitmap_(paths, seed) {}

    std::uint16_t next(Nanos now) override {
        if (good_.empty()) return bitmap_.next(now);
        const std::uint16_t path = good_.front();
        good_.pop_front();
        return path;
    }
    void learn(std::uint16_t path, PathNews news, Nanos now) override {
        bitmap_.learn(path, news, now);
        if (news == PathNews::good) good_.push_back(path);
    }

  private:
    Bitmap bitmap_;
    std::deque<std::uint16_t> good_;  // not used since
};

}  // namespace

std::unique_ptr<PathPolicy> make_path_policy(std::string_view name, std::uint16_t paths, std::uint64_t seed) {
    if (!std::has_single_bit(paths))
        throw std::invalid_argument("paths: expected a power of two, got " + std::to_string(paths));
    if (name == "oblivious") return std::make_unique<Oblivious>(paths, seed);
    if (name == "bitmap") return std::make_unique<Bitmap>(paths, seed);
    if (name == "reps") return std::make_unique<Reps>(paths, seed);
    if (name == "mixed") return std::make_unique<Mixed>(paths, seed);
    throw std::invalid_argument("path policy: expected oblivious, bitmap, reps or mixed, got '" +
                                std::string(name) + "'");
}

}  // namespace csaud::sim::baselines
