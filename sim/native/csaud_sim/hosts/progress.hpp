// How much of what was asked for is not over; the engine stops when nothing is left, or something failed.
#pragma once

#include <cstddef>

#include "csaud_sim/engine/engine.hpp"

namespace csaud::sim {

class Progress {
  public:
    explicit Progress(Engine& engine) : engine_(engine) {}

    void begin(std::size_t many) { open_ += many; }
    void end(std::size_t many) {
        open_ -= many;
        if (open_ == 0 && watched_) engine_.stop();
    }
    void failed() {
        ++failures_;
        if (watched_) engine_.stop();
    }

    std::size_t open() const { return open_; }
    std::size_t failures() const { return failures_; }
    // Whether anybody wants the engine to stop.
    void watch(bool watched) { watched_ = watched; }

  private:
    Engine& engine_;
    std::size_t open_ = 0, failures_ = 0;
    bool watched_ = false;
};

}  // namespace csaud::sim
