// Messages whose packets arrive in any order: each is over when all of them have come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "csaud_sim/baselines/transport.hpp"

namespace csaud::sim::baselines {

class MessageArrivals {
  public:
    // A new packet of the message of `bytes` bytes that has `packets` packets, of which `first` is the first
    // one of its connection.
    void taken(const MessageName& name, std::uint32_t first, std::uint32_t packets, std::uint64_t bytes,
               Upper& upper, Nanos now) {
        auto found = std::ranges::find(open_, first, &Open::first);
        if (found == open_.end()) found = open_.insert(found, {first, packets, now});
        if (--found->missing > 0) return;
        const Nanos started = found->started;
        *found = open_.back();
        open_.pop_back();
        upper.delivered(name, bytes, started, now);
    }

  private:
    struct Open {
        std::uint32_t first = 0, missing = 0;
        Nanos started = 0;
    };
    std::vector<Open> open_;
};

}  // namespace csaud::sim::baselines
