// Who takes part in flows and collectives: messages are posted to it, whatever brings them to their places.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/port.hpp"
#include "csaud_sim/engine/engine.hpp"

namespace csaud::sim {

// Messages of this communicator are flows, and no collective's.
inline constexpr std::uint16_t kFlowComm = 0xFFFF;

// Who is told of completions of flows.
class FlowSink {
  public:
    virtual void completed(const Completion& completion, Nanos now) = 0;

  protected:
    ~FlowSink() = default;
};

class Party {
  public:
    virtual bool alive() const = 0;
    virtual std::uint16_t epoch() const = 0;
    virtual std::uint64_t longest_message() const = 0;
    // What its clock shows.
    virtual Nanos local(Nanos now) const = 0;
    virtual collectives::Port& port() = 0;
    // To be called after something was posted.
    virtual void turn(Nanos now) = 0;

  protected:
    ~Party() = default;
};

using Parties = std::vector<Party*>;

}  // namespace csaud::sim
