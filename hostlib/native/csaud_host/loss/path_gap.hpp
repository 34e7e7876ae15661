// Path gaps: on a path that is FIFO, a hole in path_seq is a loss, known as soon as the next packet of the
// path arrives. One tracker per (source, path). A LOSS notice fills its number and never advances the path.
#pragma once

#include <cstdint>

#include "csaud_host/base/sequence.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud {

class PathTracker {
  public:
    // `known`: the first packet of the path has number 0. Otherwise the number of the first one that comes is
    // taken as it is.
    explicit PathTracker(bool known = true) noexcept : known_(known) {}

    // A DATA packet with this path_seq arrived. True: it is the next one, and that is all.
    bool in_turn(const Serial& serial, std::uint16_t seq) noexcept {
        if (!known_ || seq != expected_) return false;
        filled_ >>= 1;
        expected_ = static_cast<std::uint16_t>(serial.wrap(std::uint64_t{seq} + 1));
        return true;
    }
    // One that may be out of turn. `ordered`: its sender holds the path to be FIFO; if not, what
    // is skipped is no gap. Numbers that a LOSS notice filled at either end of the hole are left out of it.
    wire::PathGap on_data(const Serial& serial, std::uint16_t seq, bool ordered) noexcept;
    void on_loss(const Serial& serial, std::uint16_t seq) noexcept;

  private:
    void advance(unsigned by) noexcept { filled_ = by >= 64 ? 0 : filled_ >> by; }

    std::uint64_t filled_ = 0;  // bit i: expected_ + i was reported by a LOSS notice
    std::uint16_t expected_ = 0;
    bool known_;
};

}  // namespace csaud
