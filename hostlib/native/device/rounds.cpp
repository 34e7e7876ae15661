#include "rounds.hpp"

#include <optional>
#include <utility>

#include "clock.hpp"

namespace csaud::device {
namespace {

// While arrivals pile up, timers wait (an unread packet looks like a lost one), but not for ever.
constexpr unsigned kTurnsWithoutTimer = 32;

// What is left of a device that was given away.
class FormerDevice final : public Device {
  public:
    explicit FormerDevice(const DeviceCounters& counters) : counters_(counters) {}

    Sent send(std::span<const TxPacket> packets) override { return {.taken = packets.size()}; }
    Received receive() override { return {}; }
    void watch(std::vector<pollfd>&, bool) const override {}
    DeviceCounters counters() const override { return counters_; }

  private:
    const DeviceCounters counters_;
};

}  // namespace

Rounds::Rounds(const EndpointConfig& config, std::shared_ptr<Device> device, std::size_t batch,
               std::mutex& mutex, Results& results)
    : mutex_(mutex), results_(results), device_(std::move(device)), outbox_(batch), endpoint_(config) {}

Rounds::Found Rounds::turn(bool by_caller) {
    const Received arrivals = device_->receive();
    Found found;
    found.more = arrivals.more;
    found.arrivals = !arrivals.packets.empty();
    {
        const std::lock_guard lock(mutex_);
        const Nanos now = take_arrivals(arrivals);
        // Completions first: what is gathered afterwards belongs to messages that are still unfinished, and
        // to those that follow the finished ones.
        collect_completions(now);
        found.wanted = results_.awaited();
        if (results_.any() && by_caller) {
            posted_ = true;
            return found;
        }
        posted_ = false;
        outbox_.gather(endpoint_, now);
    }
    hand_over();
    found.more = found.more || (outbox_.full() && !outbox_.has_rest());
    found.more = reduce_some() || found.more;
    return found;
}

void Rounds::push(Lock& lock) {
    const Nanos now = monotonic_now();
    collect_completions(now);
    const bool rest = outbox_.has_rest();
    outbox_.gather(endpoint_, now);
    posted_ = outbox_.full() || rest || executor_.has_work();
    lock.unlock();
    if (!rest) hand_over();
    lock.lock();
}

Rounds::Pause Rounds::pause() const {
    const bool rest = outbox_.has_rest();
    return {.deadline = endpoint_.next_deadline(),
            .blocked = rest && outbox_.reason() == SendResult::blocked,
            .starved = rest && outbox_.reason() == SendResult::starved};
}

void Rounds::start(collectives::Execution& execution, Nanos now) {
    executor_.start(execution, port_, now);
    posted_ = true;
}

std::shared_ptr<Device> Rounds::release_device() {
    send_memory_ = nullptr;
    return std::exchange(device_, std::make_shared<FormerDevice>(device_->counters()));
}

Nanos Rounds::take_arrivals(const Received& arrivals) {
    const Nanos now = monotonic_now();
    endpoint_.on_packets(arrivals.packets, now, [this](std::size_t i) { device_->before(i); });
    if (arrivals.more && ++turns_without_timer_ < kTurnsWithoutTimer) return now;
    turns_without_timer_ = 0;
    const Nanos after = arrivals.packets.empty() ? now : monotonic_now();
    endpoint_.on_timer(after);
    return after;
}

void Rounds::collect_completions(Nanos now) {
    Completion completion;
    while (endpoint_.next_completion(completion)) {
        if (!executor_.on_completion(completion, port_, now)) results_.add(completion);
    }
    results_.tell();
}

// Without the lock.
void Rounds::hand_over() {
    if (!outbox_.send(*device_)) return;
    // If we were held up since the packets were gathered, they are younger than they look.
    const std::lock_guard lock(mutex_);
    endpoint_.sent(monotonic_now());
}

// A piece of what is to be reduced, without the lock: posts and questions need not wait for it.
bool Rounds::reduce_some() {
    std::optional<collectives::Piece> piece;
    {
        const std::lock_guard lock(mutex_);
        piece = executor_.next_piece();
    }
    if (!piece) return false;
    piece->work();
    const std::lock_guard lock(mutex_);
    executor_.on_piece(port_, monotonic_now());
    results_.tell();
    return true;
}

}  // namespace csaud::device
