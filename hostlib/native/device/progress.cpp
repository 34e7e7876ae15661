#include "progress.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <stdexcept>

#include "clock.hpp"
#include "sockets.hpp"

namespace csaud::device {
namespace {

constexpr Nanos kStarvedPause = 100 * kMicrosecond;  // before a full interface queue is tried again
constexpr Nanos kBlockedPause = kMillisecond;        // timers wait at most so long for a full socket to drain
constexpr unsigned long kTimerSlackNs = 1'000;
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

Progress::Progress(const EndpointConfig& config, std::shared_ptr<Device> device, std::size_t batch)
    : device_(std::move(device)),
      max_message_bytes_(Endpoint(config).max_message_bytes()),
      wakeup_(open_wakeup()),
      outgoing_(batch),
      endpoint_(config) {}

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
    thread_ = std::thread([this] { run(); });
}

void Progress::stop() {
    if (!thread_.joinable()) return;
    stopping_ = true;
    wake(true);
    thread_.join();
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = "the transport is closed";
    completion_.notify_all();
}

std::uint64_t Progress::post_send(const MessageName& name, std::uint16_t dst,
                                  std::span<const std::byte> buffer, const Hints& hints) {
    std::unique_lock lock(mutex_);
    const std::uint64_t id = endpoint_.post_send(name, dst, buffer, hints, monotonic_now());
    wake_for_post(lock);
    return id;
}

std::uint64_t Progress::post_recv(const MessageName& name, std::uint16_t src, std::span<std::byte> buffer,
                                  const Hints& hints) {
    std::unique_lock lock(mutex_);
    const std::uint64_t id = endpoint_.post_recv(name, src, buffer, hints, monotonic_now());
    wake_for_post(lock);
    return id;
}

bool Progress::wait(std::vector<Completion>& completions, Nanos timeout) {
    std::unique_lock lock(mutex_);
    completion_.wait_for(lock, std::chrono::nanoseconds(timeout),
                         [this] { return !completed_.empty() || !failure_.empty(); });
    if (completed_.empty() && !failure_.empty()) throw std::runtime_error(failure_);
    if (completed_.empty()) return false;
    std::ranges::move(completed_, std::back_inserter(completions));
    completed_.clear();
    return true;
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
        if (completed_.empty() && endpoint_.quiescent(now)) return true;
        if (now >= deadline) return false;
        completion_.wait_for(lock, kStep);
    }
}

void Progress::abort() {
    std::unique_lock lock(mutex_);
    endpoint_.abort(monotonic_now());
    wake_for_post(lock);
}

void Progress::abort_peer(std::uint16_t rank) {
    std::unique_lock lock(mutex_);
    endpoint_.abort_peer(rank, monotonic_now());
    wake_for_post(lock);
}

void Progress::deny_path(std::uint16_t path, bool denied) {
    const std::lock_guard lock(mutex_);
    endpoint_.deny_path(path, denied);
}

Stats Progress::stats() const {
    const DeviceCounters counters = device_->counters();
    const std::lock_guard lock(mutex_);
    Stats stats = endpoint_.stats();
    stats.rx_queue_drops = counters.rx_queue_drops;
    stats.tx_errors = counters.tx_errors;
    return stats;
}

std::optional<Nanos> Progress::silence(std::uint16_t rank) const {
    const std::lock_guard lock(mutex_);
    const Nanos heard = endpoint_.last_contact(rank);
    if (heard == 0) return std::nullopt;
    return monotonic_now() - heard;
}

// Something was given to the endpoint. The thread may be between looking for work and going to sleep.
void Progress::wake_for_post(std::unique_lock<std::mutex>& lock) {
    posted_ = true;
    const bool asleep = std::exchange(asleep_, false);
    lock.unlock();
    wake(asleep);
}

void Progress::wake(bool asleep) {
    if (asleep) ::eventfd_write(wakeup_.get(), 1);
}

void Progress::run() {
    ::prctl(PR_SET_NAME, "csaud-progress");
    ::prctl(PR_SET_TIMERSLACK, kTimerSlackNs);
    try {
        while (!stopping_)
            if (!turn()) sleep_until_work();
    } catch (const std::exception& error) {
        // Without its thread the rank is deaf: whoever waits gets this as the reason.
        const std::lock_guard lock(mutex_);
        failure_ = error.what();
        completion_.notify_all();
    }
}

// One round of receive, timers, send. True: there is more to do at once.
bool Progress::turn() {
    const Received arrivals = device_->receive();
    more_arrivals_ = arrivals.more;
    std::size_t count = 0;
    bool notify = false;
    {
        const std::lock_guard lock(mutex_);
        take_arrivals(arrivals);
        // Completions first: what is gathered afterwards belongs to messages that are still unfinished.
        collect_completions();
        notify = !completed_.empty();
        posted_ = false;
        if (backlog_.packets.empty()) count = gather();
    }
    if (notify) completion_.notify_all();
    if (backlog_.packets.empty())
        hand_over(std::span(outgoing_).first(count));
    else
        hand_over(backlog_.packets);
    return more_arrivals_ || (count == outgoing_.size() && backlog_.packets.empty());
}

void Progress::take_arrivals(const Received& arrivals) {
    const Nanos now = monotonic_now();
    for (const Packet& packet : arrivals.packets) endpoint_.on_packet(packet, now);
    if (arrivals.more && ++turns_without_timer_ < kTurnsWithoutTimer) return;
    turns_without_timer_ = 0;
    endpoint_.on_timer(monotonic_now());
}

std::size_t Progress::gather() {
    std::size_t count = 0;
    while (count < outgoing_.size() && endpoint_.next_tx(outgoing_[count], monotonic_now())) ++count;
    return count;
}

void Progress::hand_over(std::span<const TxPacket> packets) {
    if (packets.empty()) return;
    const Sent sent = device_->send(packets);
    keep(packets.subspan(sent.taken), sent.result);
    if (!backlog_.packets.empty()) return;
    // If we were held up since the packets were gathered, they are younger than they look.
    const std::lock_guard lock(mutex_);
    endpoint_.sent(monotonic_now());
}

void Progress::keep(std::span<const TxPacket> packets, SendResult reason) {
    backlog_.reason = reason;
    if (packets.empty()) {
        backlog_.packets.clear();
        return;
    }
    if (!backlog_.packets.empty()) {  // they are its rest already, copied before
        const auto kept = static_cast<std::ptrdiff_t>(packets.size());
        backlog_.packets.erase(backlog_.packets.begin(), backlog_.packets.end() - kept);
        return;
    }
    std::size_t bytes = 0;
    for (const TxPacket& packet : packets) bytes += packet.payload.size();
    backlog_.payload.resize(bytes);
    backlog_.packets.assign(packets.begin(), packets.end());
    std::byte* end = backlog_.payload.data();
    for (TxPacket& packet : backlog_.packets) {
        std::ranges::copy(packet.payload, end);
        packet.payload = {end, packet.payload.size()};
        end += packet.payload.size();
    }
}

void Progress::collect_completions() {
    Completion completion;
    while (endpoint_.next_completion(completion)) completed_.push_back(completion);
}

void Progress::sleep_until_work() {
    Nanos deadline = kNever;
    {
        const std::lock_guard lock(mutex_);
        if (posted_) return;  // since the last turn
        collect_completions();
        if (!completed_.empty()) completion_.notify_all();
        deadline = endpoint_.next_deadline();
        asleep_ = true;
    }
    const bool blocked = !backlog_.packets.empty() && backlog_.reason == SendResult::blocked;
    const bool starved = !backlog_.packets.empty() && backlog_.reason == SendResult::starved;
    const Nanos now = monotonic_now();
    // While nothing can be sent, the endpoint's wish to send is no reason to wake up.
    if (starved) deadline = now + kStarvedPause;
    if (blocked) deadline = std::max(deadline, now + kBlockedPause);
    poll_list_.clear();
    poll_list_.push_back({wakeup_.get(), POLLIN, 0});
    device_->watch(poll_list_, blocked);

    const Nanos left = std::max<Nanos>(0, deadline == kNever ? 0 : deadline - now);
    const timespec timeout{left / kSecond, left % kSecond};
    ::ppoll(poll_list_.data(), poll_list_.size(), deadline == kNever ? nullptr : &timeout, nullptr);

    if (poll_list_.front().revents != 0) {
        eventfd_t count = 0;
        ::eventfd_read(wakeup_.get(), &count);
    }
    const std::lock_guard lock(mutex_);
    asleep_ = false;
}

}  // namespace csaud::device
