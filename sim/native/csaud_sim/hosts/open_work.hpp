// How much of what was asked for is not over; the engine stops when nothing is left, when something of it is
// over, or when something failed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "csaud_sim/engine/engine.hpp"

namespace csaud::sim {

class OpenWork {
  public:
    // What the engine is to stop for, besides failures.
    enum class Watch : std::uint8_t { nothing, last, each };

    explicit OpenWork(Engine& engine) : engine_(engine) {}

    void begin(std::size_t many) { open_ += many; }
    void end(std::size_t many) {
        open_ -= many;
        ended_ += many;
        if (watch_ == Watch::each || (open_ == 0 && watch_ == Watch::last)) engine_.stop();
    }
    void failed() {
        ++failures_;
        if (watch_ != Watch::nothing) engine_.stop();
    }

    std::size_t open() const { return open_; }
    std::size_t failures() const { return failures_; }
    std::size_t ended() const { return ended_; }
    void watch(Watch what) { watch_ = what; }

  private:
    Engine& engine_;
    std::size_t open_ = 0, ended_ = 0, failures_ = 0;
    Watch watch_ = Watch::nothing;
};

}  // namespace csaud::sim
