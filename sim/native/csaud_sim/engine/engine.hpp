// Time: who acts when. Nothing else of the simulator knows what keeps it.
//
// This header needs nothing but the standard library: an engine may be built apart from the simulator
// (engine/plugin.hpp).
#pragma once

#include <cstdint>

namespace csaud::sim {

using Nanos = std::int64_t;  // since the begin of the simulation

// Whose turn comes at a time that it asked for. `what` is as it was asked for.
class Actor {
  public:
    virtual void act(std::uint32_t what, Nanos now) = 0;

  protected:
    ~Actor() = default;
};

using EventId = std::uint64_t;
inline constexpr EventId kNoEvent = 0;

class Engine {
  public:
    Engine() = default;
    virtual ~Engine() = default;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    virtual Nanos now() const = 0;
    // The actor acts at `time`, not before now; of one time in the order in which it was asked for.
    virtual EventId at(Nanos time, Actor& actor, std::uint32_t what) = 0;
    // Of an event that has not come.
    virtual void cancel(EventId) = 0;
    // Until every event of `until` and before it is over, and now() is `until`; or until stop(), and now()
    // is the time of the event that stopped it. From outside of events.
    virtual void run(Nanos until) = 0;
    // After the present event.
    virtual void stop() = 0;
};

}  // namespace csaud::sim
