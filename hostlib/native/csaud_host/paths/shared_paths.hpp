// What became of packets to several peers, by path: to all of them, whose packets share the first hops, or to
// those of a subnet, which share the last ones, too. What packets to two peers met there a third one's will.
// Of one peer alone nothing is concluded; that is its own policy's matter.
#pragma once

#include <cstdint>
#include <vector>

namespace csaud {

class SharedPaths {
  public:
    explicit SharedPaths(std::uint16_t paths) : paths_(paths) {}

    // A packet arrived unmarked. Where few are sent one tells twice as much.
    void arrived(std::uint16_t path) noexcept {
        Path& p = paths_[path];
        move(p, -p.share / (poor(p) ? kWeight / 2 : kWeight));
    }
    // One to `rank` was lost or came marked. It says nothing new where it was the same rank's the last time.
    void failed(std::uint16_t path, std::uint16_t rank) noexcept {
        Path& p = paths_[path];
        if (p.last == rank) return;
        p.last = rank;
        move(p, (kAll - p.share) / kWeight);
    }
    // Whether others had better pass over it: two packets failed among 35, and twice as many as on the mean
    // of all paths.
    bool poor(std::uint16_t path) const noexcept { return poor(paths_[path]); }

    std::size_t bytes() const noexcept { return paths_.capacity() * sizeof(Path); }

  private:
    static constexpr std::int32_t kAll = 1 << 16;
    static constexpr std::int32_t kWeight = 32;
    static constexpr std::uint32_t kNobody = UINT32_MAX;

    struct Path {
        std::int32_t share = 0;        // of its packets that failed, of late; of kAll
        std::uint32_t last = kNobody;  // rank of which one failed the last
    };
    bool poor(const Path& p) const noexcept {
        return p.share >= kAll / 24 && static_cast<std::int64_t>(paths_.size()) * p.share >= 2 * sum_;
    }
    void move(Path& p, std::int32_t by) noexcept {
        p.share += by;
        sum_ += by;
    }

    std::vector<Path> paths_;
    std::int64_t sum_ = 0;  // of all shares
};

}  // namespace csaud
