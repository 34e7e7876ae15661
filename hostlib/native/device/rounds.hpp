// One endpoint, one device, the collectives over them, and a round of work with them: receive, timers, send,
// reduce. One thread at a time drives, without the lock; posts and questions are under it.
#pragma once

#include <poll.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "collectives/endpoint_port.hpp"
#include "collectives/executor.hpp"
#include "csaud_host/endpoint/endpoint.hpp"
#include "device.hpp"
#include "outbox.hpp"
#include "results.hpp"

namespace csaud::device {

class Rounds {
  public:
    // `batch` is the most packets handed over at once. `mutex` is the lock; completions go to `results`.
    Rounds(const EndpointConfig& config, std::shared_ptr<Device> device, std::size_t batch, std::mutex& mutex,
           Results& results);

    // What a round came upon.
    struct Found {
        bool more = false;      // to be done at once
        bool arrivals = false;  // packets came
        bool wanted = false;    // a caller would rather drive
    };

    // What a driver that has nothing to do waits for, besides packets.
    struct Pause {
        Nanos deadline = kNever;  // the endpoint's
        bool blocked = false;     // until the socket takes packets again
        bool starved = false;     // the interface's queue is full
    };

    // By the driver, without the lock. `by_caller`: who posts one by one has what was completed at once, and
    // what is to be sent waits for what it posts then.
    Found turn(bool by_caller);
    // By the driver, with the lock, which is left meanwhile: what was posted leaves before anything is
    // received. Throws what the device does, with or without the lock.
    void push(Lock&);
    // By the driver: where packets come from, and room for them where sending is `blocked`.
    void watch(std::vector<pollfd>& list, bool blocked) const { device_->watch(list, blocked); }

    // All below: under the lock.

    // Something was given to the endpoint.
    void note_post() noexcept { posted_ = true; }
    // Whether something was, since packets were last gathered.
    bool posted() const noexcept { return posted_; }
    // Whether there is something to be done before anything comes.
    bool has_work() const { return posted_ || executor_.has_work(); }
    Pause pause() const;
    void start(collectives::Execution& execution, Nanos now);

    Endpoint& endpoint() noexcept { return endpoint_; }
    const Endpoint& endpoint() const noexcept { return endpoint_; }
    const collectives::Executor& executor() const noexcept { return executor_; }
    const std::shared_ptr<Device>& device() const noexcept { return device_; }
    // Once nobody drives any more: gives the device away; its counters stay.
    std::shared_ptr<Device> release_device();

  private:
    Nanos take_arrivals(const Received& arrivals);
    void collect_completions(Nanos now);
    void hand_over();
    bool reduce_some();

    std::mutex& mutex_;
    Results& results_;
    std::shared_ptr<Device> device_;

    // The driver's own.
    Outbox outbox_;
    unsigned turns_without_timer_ = 0;

    // Under the lock.
    Endpoint endpoint_;
    collectives::EndpointPort port_{endpoint_};
    collectives::Executor executor_{endpoint_.config().rank, endpoint_.config().epoch};
    std::shared_ptr<const void> send_memory_ = device_->pin(executor_.send_memory());
    bool posted_ = false;
};

}  // namespace csaud::device
