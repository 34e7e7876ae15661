// The end of a job that failed: told to every rank several times, and to each that still talks to us.
#pragma once

#include <cstdint>

#include "context.hpp"

namespace csaud {

class AbortState {
  public:
    explicit AbortState(Context& c) : ctx_(c) {}

    bool active() const noexcept { return status_ != Status::ok; }
    bool settled() const noexcept { return !active() || rounds_left_ == 0; }
    Status status() const noexcept { return status_; }
    std::uint16_t rank() const noexcept { return rank_; }

    // `flood`: this rank found out itself and tells all others.
    void enter(Status, std::uint16_t rank, bool flood, Nanos now);
    void on_timer(Nanos now);
    // Something arrived from a peer that seems not to know.
    void reply(Peer&, Nanos now);

  private:
    void tell(std::uint16_t peer);

    Context& ctx_;
    Status status_ = Status::ok;
    std::uint16_t rank_ = 0;
    unsigned rounds_left_ = 0;
};

}  // namespace csaud
