// Receives that were posted against messages that have come, in whatever order.
#pragma once

#include <cstdint>

#include "csaud_host/base/flat_map.hpp"
#include "csaud_host/base/ring_queue.hpp"
#include "csaud_host/contract/completion.hpp"

namespace csaud::sim::baselines {

class Inbox {
  public:
    explicit Inbox(RingQueue<Completion>& completions) : completions_(completions) {}

    void posted(const Completion& receive, Nanos now) {
        const Completion* came = waiting_.find(receive.name);
        if (came == nullptr) return waiting_.put(receive.name, receive);
        complete(receive, came->started_ns, now);
    }
    void delivered(const Completion& message, Nanos now) {
        const Completion* receive = waiting_.find(message.name);
        if (receive == nullptr) return waiting_.put(message.name, message);
        complete(*receive, message.started_ns, now);
    }

  private:
    void complete(Completion receive, Nanos started, Nanos now) {
        receive.started_ns = started;
        receive.finished_ns = now;
        waiting_.erase(receive.name);
        completions_.push(receive);
    }

    RingQueue<Completion>& completions_;
    FlatMap<MessageName, Completion> waiting_;
};

}  // namespace csaud::sim::baselines
