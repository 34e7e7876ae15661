// The end of a job that failed: told to every rank several times, and to each that still talks to us.
//
// One packet does not end a job (as one RST ends no connection that follows RFC 5961): an ABORT is believed
// when it answers what we sent of late, or when its rank, asked by a ping, did not answer as if all were well
// until the ABORT was repeated.
#pragma once

#include <cstdint>

#include "csaud_host/base/time.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/peers/liveness.hpp"

namespace csaud {

class AbortState {
  public:
    AbortState(Context& c, Liveness& l) : ctx_(c), liveness_(l) {}

    bool active() const noexcept { return status_ != Status::ok; }
    bool settled() const noexcept { return !active() || rounds_left_ == 0; }
    Status status() const noexcept { return status_; }
    std::uint16_t rank() const noexcept { return rank_; }

    // `flood`: this rank found out itself and tells all others.
    void enter(Status, std::uint16_t rank, bool flood, Nanos now);
    // `index`: 0 for what we tell, 1 + rank for what we ask.
    void on_timer(std::uint32_t index, Nanos now);
    // Something that left at `sent_ts` arrived from a peer that seems not to know.
    void reply(Peer&, std::uint32_t sent_ts, Nanos now);
    // An ABORT came from a peer; false: it is asked.
    bool believes(Peer&, const wire::ControlPart&, Nanos now);
    // A peer answered a ping.
    void alive(Peer&, const wire::ControlPart&, Nanos now) noexcept;

  private:
    void ask(Peer&, Nanos now);
    ControlItem words(std::uint16_t peer) const;

    Context& ctx_;
    Liveness& liveness_;
    Status status_ = Status::ok;
    std::uint16_t rank_ = 0;
    unsigned rounds_left_ = 0;
};

}  // namespace csaud
