#include "progress.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <stdexcept>

#include "clock.hpp"
#include "sockets.hpp"

namespace csaud::device {
namespace {

// While arrivals pile up, timers wait (an unread packet looks like a lost one), but not for ever.
constexpr unsigned kTurnsWithoutTimer = 32;

FileDescriptor open_wakeup() {
    FileDescriptor fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (!fd) throw_errno("open an eventfd");
    return fd;
}

// A thread started meanwhile inherits it: signals then reach the application's threads, Python's handlers
// among them.
class BlockedSignals {
  public:
    BlockedSignals() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;

  private:
    sigset_t before_{};
};

}  // namespace

Progress::Progress(const EndpointConfig& config, std::shared_ptr<Device> device, std::size_t batch,
                   Nanos spin)
    : device_(std::move(device)),
      max_message_bytes_(Endpoint(config).max_message_bytes()),
      spin_(spin),
      outbox_(batch),
      spin_now_(spin),
      endpoint_(config) {
    for (Bed* bed : {&thread_bed_, &caller_bed_}) bed->wakeup = open_wakeup();
}

Progress::~Progress() {
    stop();
}

void Progress::set_peer(std::uint16_t rank, std::uint32_t ipv4, std::uint32_t qpn) {
    {
        const std::lock_guard lock(mutex_);
        endpoint_.set_peer(rank, ipv4, qpn);
    }
    device_->prepare(ipv4);
}

void Progress::start() {
    if (thread_.joinable()) throw std::logic_error("the progress thread runs already");
    const BlockedSignals blocked;
    running_ = true;
    process_ = ::getpid();
    thread_ = std::thread([this] { run(); });
}

void Progress::stop() {
    if (!thread_.joinable()) return;
    if (::getpid() != process_)
        return thread_.detach();  // forked: neither thread nor lock are to be had here
    stopping_ = true;
    {
        Lock lock(mutex_);
        running_ = false;
        wake(thread_bed_);
        wake(caller_bed_);
        stand_by_.notify_all();
        left_.wait(lock, [this] { return driver_ == Driver::none; });
    }
    thread_.join();
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = "the transport is closed";
    tell_waiters();
}

std::uint64_t Progress::post_send(const MessageName& name, std::uint16_t dst,
                                  std::span<const std::byte> buffer, const Hints& hints) {
    Lock lock(mutex_);
    const std::uint64_t id = endpoint_.post_send(name, dst, buffer, hints, monotonic_now());
    after_post(lock, true);
    return id;
}

std::uint64_t Progress::post_recv(const MessageName& name, std::uint16_t src, std::span<std::byte> buffer,
                                  const Hints& hints) {
    Lock lock(mutex_);
    const std::uint64_t id = endpoint_.post_recv(name, src, buffer, hints, monotonic_now());
    after_post(lock, false);
    return id;
}

bool Progress::wait(std::vector<Completion>& completions, Nanos timeout) {
    Lock lock(mutex_);
    await(lock, {}, timeout);
    if (completed_.empty() && !failure_.empty()) throw std::runtime_error(failure_);
    if (completed_.empty()) return false;
    std::ranges::move(completed_, std::back_inserter(completions));
    completed_.clear();
    return true;
}

void Progress::start(collectives::Execution& execution) {
    Lock lock(mutex_);
    if (!failure_.empty()) throw std::runtime_error(failure_);
    executor_.start(execution, port_, monotonic_now());
    after_post(lock, true);
}

bool Progress::run(collectives::Execution& execution, Nanos timeout) {
    Lock lock(mutex_);
    if (!failure_.empty()) throw std::runtime_error(failure_);
    const Nanos now = monotonic_now();
    executor_.start(execution, port_, now);
    posted_ = true;
    const collectives::Execution* const wanted[] = {&execution};
    if (driver_ == Driver::none && running_)
        drive(lock, wanted, now + timeout);
    else
        wake(caller_bed_);
    return finish(lock, wanted, timeout);
}

bool Progress::wait(const collectives::Execution& execution, Nanos timeout) {
    if (execution.over()) return true;
    Lock lock(mutex_);
    const collectives::Execution* const wanted[] = {&execution};
    return finish(lock, wanted, timeout);
}

bool Progress::wait_any(std::span<const collectives::Execution* const> executions, Nanos timeout) {
    if (executions.empty()) throw std::invalid_argument("a wait for none of no collectives");
    Lock lock(mutex_);
    return finish(lock, executions, timeout);
}

bool Progress::finish(Lock& lock, Wanted wanted, Nanos timeout) {
    await(lock, wanted, timeout);
    if (std::ranges::any_of(wanted, &collectives::Execution::over)) return true;
    if (!failure_.empty()) throw std::runtime_error(failure_);
    return false;
}

std::vector<collectives::Execution::Awaited> Progress::awaited(
    const collectives::Execution& execution) const {
    const std::lock_guard lock(mutex_);
    return execution.awaited();
}

std::vector<Nanos> Progress::flow_times() const {
    const std::lock_guard lock(mutex_);
    return executor_.flow_times().all();
}

bool Progress::wait_quiescent(Nanos timeout) {
    // Quiet is a matter of time passing, which no event tells; the endpoint's linger is longer than this
    // step.
    constexpr auto kStep = std::chrono::milliseconds(10);
    const Nanos deadline = monotonic_now() + timeout;
    std::unique_lock lock(mutex_);
    for (;;) {
        if (!failure_.empty()) throw std::runtime_error(failure_);
        const Nanos now = monotonic_now();
        if (completed_.empty() && !executor_.has_work() && endpoint_.quiescent(now)) return true;
        if (now >= deadline) return false;
        left_.wait_for(lock, kStep);
    }
}

void Progress::abort(std::string_view note) {
    Lock lock(mutex_);
    endpoint_.abort(monotonic_now(), note);
    after_post(lock, true);
}

void Progress::abort_peer(std::uint16_t rank) {
    Lock lock(mutex_);
    endpoint_.abort_peer(rank, monotonic_now());
    after_post(lock, true);
}

void Progress::deny_path(std::uint16_t path, bool denied) {
    const std::lock_guard lock(mutex_);
    endpoint_.deny_path(path, denied);
}

void Progress::tell(std::uint16_t rank, std::string_view note) {
    Lock lock(mutex_);
    endpoint_.tell(rank, note);
    after_post(lock, true);
}

std::map<std::uint16_t, std::string> Progress::take_notes() {
    const std::lock_guard lock(mutex_);
    return endpoint_.take_notes();
}

std::string Progress::abort_note() const {
    const std::lock_guard lock(mutex_);
    return endpoint_.abort_note();
}

std::vector<PendingMessage> Progress::pending() const {
    const std::lock_guard lock(mutex_);
    return endpoint_.pending();
}

Stats Progress::stats() const {
    const DeviceCounters counters = device_->counters();
    const std::lock_guard lock(mutex_);
    Stats stats = endpoint_.stats();
    stats.rx_queue_drops = counters.rx_queue_drops;
    stats.tx_errors = counters.tx_errors;
    stats.rx_bad_icrc += counters.rx_bad_icrc;
    return stats;
}

std::optional<Nanos> Progress::silence(std::uint16_t rank) const {
    const std::lock_guard lock(mutex_);
    const Nanos heard = endpoint_.last_contact(rank);
    if (heard == 0) return std::nullopt;
    return monotonic_now() - heard;
}

// Something was given to the endpoint. Where nobody drives, what is to be sent leaves at once.
void Progress::after_post(Lock& lock, bool send) {
    posted_ = true;
    wake(thread_bed_);
    wake(caller_bed_);
    if (!send || driver_ != Driver::none || !running_) return;
    driver_ = Driver::caller;
    push(lock);
    leave(lock);
}

// By the driver, with the lock, which is left meanwhile: what was posted leaves before anything is received.
void Progress::push(Lock& lock) {
    try {
        const Nanos now = monotonic_now();
        collect_completions(now);
        tell_waiters();
        const bool rest = outbox_.has_rest();
        outbox_.gather(endpoint_, now);
        posted_ = outbox_.full() || rest || executor_.has_work();
        lock.unlock();
        if (!rest) hand_over();
        lock.lock();
    } catch (const std::exception& error) {
        if (!lock.owns_lock()) lock.lock();
        fail(error.what());
    }
}

// One round of receive, timers, send, reduce.
Progress::Found Progress::turn() {
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
        tell_waiters();
        found.wanted = !waiters_.empty();
        // Who posts one by one goes on with what was completed at once; what it posts then, and what is to be
        // said of what came, leave together.
        if (!completed_.empty() && driver_ == Driver::caller) {
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

// A piece of what is to be reduced, without the lock: posts and questions need not wait for it.
bool Progress::reduce_some() {
    std::optional<collectives::Piece> piece;
    {
        const std::lock_guard lock(mutex_);
        piece = executor_.next_piece();
    }
    if (!piece) return false;
    piece->work();
    const std::lock_guard lock(mutex_);
    executor_.on_piece(port_, monotonic_now());
    tell_waiters();
    return true;
}

Nanos Progress::take_arrivals(const Received& arrivals) {
    const Nanos now = monotonic_now();
    for (std::size_t i = 0; i < arrivals.packets.size(); ++i) {
        device_->before(i);
        endpoint_.on_packet(arrivals.packets[i], now);
    }
    if (arrivals.more && ++turns_without_timer_ < kTurnsWithoutTimer) return now;
    turns_without_timer_ = 0;
    const Nanos after = arrivals.packets.empty() ? now : monotonic_now();
    endpoint_.on_timer(after);
    return after;
}

// Without the lock.
void Progress::hand_over() {
    if (!outbox_.send(*device_)) return;
    // If we were held up since the packets were gathered, they are younger than they look.
    const std::lock_guard lock(mutex_);
    endpoint_.sent(monotonic_now());
}

void Progress::collect_completions(Nanos now) {
    Completion completion;
    while (endpoint_.next_completion(completion)) {
        if (!executor_.on_completion(completion, port_, now)) completed_.push_back(completion);
    }
}

}  // namespace csaud::device
