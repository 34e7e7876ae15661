// How fast the sender of a connection may send.
#pragma once

#include <cstdint>

#include "csaud_host/base/time.hpp"

namespace csaud::sim::baselines {

class RateControl {
  public:
    virtual ~RateControl() = default;

    // When the next packet may go.
    virtual Nanos next() const = 0;
    // A packet of so many bytes, as they are on a link, went.
    virtual void sent(std::uint64_t bytes, Nanos now) = 0;
    // The receiver says that one came with a congestion mark.
    virtual void marked(Nanos now) = 0;
};

}  // namespace csaud::sim::baselines
