// How much of what was asked for is not over; the engine stops when nothing is left, when something of it is
// over, or when something failed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "csaud_sim/engine/engine.hpp"

namespace csaud::sim {

class OpenWork {
  public:
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

    // Until all that has begun is over, or with `each` something of it, or something failed (true); or until
    // `until` has come.
    bool run(Nanos until, bool each) {
        const std::size_t failures = failures_, ended = ended_;
        const auto over = [&] { return open_ == 0 || failures_ != failures || (each && ended_ != ended); };
        if (!over() && until > engine_.now()) {
            watch_ = each ? Watch::each : Watch::last;
            engine_.run(until);
            watch_ = Watch::nothing;
        }
        return over();
    }

    std::size_t open() const { return open_; }
    std::size_t failures() const { return failures_; }

  private:
    // What the engine is to stop for, besides failures.
    enum class Watch : std::uint8_t { nothing, last, each };

    Engine& engine_;
    std::size_t open_ = 0, ended_ = 0, failures_ = 0;
    Watch watch_ = Watch::nothing;
};

}  // namespace csaud::sim
