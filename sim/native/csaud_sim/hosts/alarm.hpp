// The one timer of a host: an event of the engine that moves earlier as asked. One that would move later
// stays as it is: it comes early once, and is set anew then.
#pragma once

#include <utility>

#include "csaud_host/base/time.hpp"
#include "csaud_sim/engine/engine.hpp"

namespace csaud::sim {

class Alarm {
  public:
    Alarm(Engine& engine, Actor& owner, std::uint32_t what) : engine_(engine), owner_(owner), what_(what) {}

    void set(Nanos due) {
        if (armed_for_ <= due) return;
        if (event_ != kNoEvent) engine_.cancel(event_);
        armed_for_ = due;
        event_ = engine_.at(due, owner_, what_);
    }
    // The owner's event has come.
    void rang() {
        event_ = kNoEvent;
        armed_for_ = kNever;
    }
    void cancel() {
        if (event_ != kNoEvent) engine_.cancel(std::exchange(event_, kNoEvent));
        armed_for_ = kNever;
    }

  private:
    Engine& engine_;
    Actor& owner_;
    std::uint32_t what_;
    Nanos armed_for_ = kNever;
    EventId event_ = kNoEvent;
};

}  // namespace csaud::sim
