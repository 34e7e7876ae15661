// ECN by path. A receiver counts, for each peer and path, the DATA that came marked (CE); each control packet
// to that peer tells one path's count, cumulative, so that a lost one heals with the next. Nothing is kept of
// peers of which nothing marked came.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "csaud_host/base/sequence.hpp"

namespace csaud {

struct EcnReport {
    bool any = false;
    std::uint16_t path = 0;
    std::uint16_t count = 0;  // as it goes on the wire
};

// The receiver's side, per peer.
class EcnMarks {
  public:
    void marked(std::uint16_t path, std::uint16_t paths) {
        if (counts_.empty()) counts_.resize(paths);
        Count& c = counts_[path];
        if (c.marked == c.told) ++untold_;
        if (c.marked - c.told < UINT32_MAX) ++c.marked;  // so that `told` never catches up from behind
    }
    // The next path of which the sender does not know all marks, in turn; none: it knows all.
    EcnReport tell(const Serial& serial) noexcept {
        if (untold_ == 0) return {};
        while (counts_[next_].marked == counts_[next_].told) step();
        const std::uint16_t path = next_;
        step();
        return tell(serial, path);
    }
    // The same of one path. More marks than a sender can tell from fewer are told in parts.
    EcnReport tell(const Serial& serial, std::uint16_t path) noexcept {
        if (path >= counts_.size()) return {};
        Count& c = counts_[path];
        if (c.marked == c.told) return {};
        c.told += std::min(c.marked - c.told, serial.quarter());
        if (c.marked == c.told) --untold_;
        return {true, path, static_cast<std::uint16_t>(serial.wrap(c.told))};
    }

    std::size_t bytes() const noexcept { return counts_.capacity() * sizeof(Count); }

  private:
    struct Count {
        std::uint32_t marked = 0;
        std::uint32_t told = 0;
    };
    void step() noexcept { next_ = static_cast<std::uint16_t>((next_ + 1U) % counts_.size()); }

    std::vector<Count> counts_;
    std::uint16_t next_ = 0;
    std::uint16_t untold_ = 0;  // paths
};

// The sender's side, per peer: what it was told last.
class EcnEcho {
  public:
    // How many marks are new. A control packet that was overtaken says nothing new.
    std::uint16_t heard(const Serial& serial, std::uint16_t path, std::uint16_t count, std::uint16_t paths) {
        if (told_.empty()) told_.resize(paths);
        const std::int32_t fresh = serial.distance(serial.wrap(told_[path]), count);
        if (fresh <= 0) return 0;
        told_[path] = static_cast<std::uint16_t>(told_[path] + fresh);
        return static_cast<std::uint16_t>(fresh);
    }

    std::size_t bytes() const noexcept { return told_.capacity() * sizeof(std::uint16_t); }

  private:
    std::vector<std::uint16_t> told_;
};

// Both sides, of a peer with which marks were exchanged.
struct PeerEcn {
    EcnMarks from;
    EcnEcho to;
    std::size_t bytes() const noexcept { return sizeof(PeerEcn) + from.bytes() + to.bytes(); }
};

}  // namespace csaud
