// When a receiver asks which of its senders for a packet: as fast as its link brings them, in turns (NDP).
// Without I/O.
#pragma once

#include <cstdint>
#include <vector>

#include "csaud_host/base/ring_queue.hpp"
#include "csaud_host/base/time.hpp"

namespace csaud::sim::baselines {

class PullPacer {
  public:
    // spacing: of pulls, what a packet takes on the link.
    explicit PullPacer(Nanos spacing) : spacing_(spacing) {}

    // One more of this connection.
    void ask(std::uint32_t connection) {
        if (connection >= wanted_.size()) wanted_.resize(connection + 1);
        if (wanted_[connection].count++ > 0 || wanted_[connection].queued) return;
        wanted_[connection].queued = true;
        turns_.push(connection);
    }
    // What was asked of it is not needed any more.
    void forget(std::uint32_t connection) {
        if (connection < wanted_.size()) wanted_[connection].count = 0;
        prune();
    }
    // When the next one may go; kNever: none is asked for.
    Nanos next() const { return turns_.empty() ? kNever : free_at_; }
    // Of whom; only where one is asked for.
    std::uint32_t first() { return turns_.front(); }
    // That one goes.
    std::uint32_t take(Nanos now) {
        const std::uint32_t connection = turns_.pop();
        Wanted& wanted = wanted_[connection];
        wanted.queued = --wanted.count > 0;
        if (wanted.queued) turns_.push(connection);
        free_at_ = now + spacing_;
        prune();
        return connection;
    }

  private:
    void prune() {
        while (!turns_.empty() && wanted_[turns_.front()].count == 0) wanted_[turns_.pop()].queued = false;
    }

    struct Wanted {
        std::uint32_t count = 0;
        bool queued = false;
    };

    Nanos spacing_;
    Nanos free_at_ = 0;
    std::vector<Wanted> wanted_;  // by connection
    RingQueue<std::uint32_t> turns_;
};

}  // namespace csaud::sim::baselines
