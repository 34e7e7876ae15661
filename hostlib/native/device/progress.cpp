#include "progress.hpp"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
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

// A caller that comes back to wait within this time finds nobody in its place: the shorter one, or the longer
// one where callers come and go all the time. The peers see it as delay of what it left undone, so it is no
// more than what a timer resolves.
constexpr Nanos kLongestStandBy = kMillisecond;
constexpr unsigned kBusy = 8;  // waits within that time
// A progress thread that found a caller driving so many times asks to be told instead.
constexpr unsigned kPatience = 16;
// Packets gathered between two looks at the clock.
constexpr std::size_t kClockEvery = 8;
// Looks without sleeping between two offers of the processor to others.
constexpr unsigned kYieldEvery = 16;
// So few packets leave with their data first.
constexpr std::size_t kFew = 4;

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
      outgoing_(batch),
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
    thread_ = std::thread([this] { run(); });
}

void Progress::stop() {
    if (!thread_.joinable()) return;
    stopping_ = true;
    {
        Lock lock(mutex_);
        running_ = false;
        wake(thread_bed_);
        wake(caller_bed_);
        stand_by_.notify_all();
        completion_.wait(lock, [this] { return driver_ == Driver::none; });
    }
    thread_.join();
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = "the transport is closed";
    completion_.notify_all();
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
    if (completed_.empty() && failure_.empty() && timeout > 0) {
        const Nanos until = monotonic_now() + timeout;
        const auto ended = [this] { return !completed_.empty() || !failure_.empty(); };
        for (Nanos left = timeout; !ended() && left > 0; left = until - monotonic_now()) {
            if (driver_ == Driver::none && running_) {
                drive(lock, until);
                continue;
            }
            ++waiting_;
            completion_.wait_for(lock, std::chrono::nanoseconds(left),
                                 [&] { return ended() || (driver_ == Driver::none && running_); });
            --waiting_;
        }
    }
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
    Lock lock(mutex_);
    endpoint_.abort(monotonic_now());
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

// Something was given to the endpoint. Where nobody drives, what is to be sent leaves at once.
void Progress::after_post(Lock& lock, bool send) {
    posted_ = true;
    wake(thread_bed_);
    wake(caller_bed_);
    if (!send || driver_ != Driver::none || !running_) return;
    driver_ = Driver::caller;
    try {
        const std::size_t count = backlog_.packets.empty() ? gather(monotonic_now()) : 0;
        posted_ = count == outgoing_.size() || !backlog_.packets.empty();
        collect_completions();
        lock.unlock();
        hand_over(std::span(outgoing_).first(count));
        lock.lock();
    } catch (const std::exception& error) {
        if (!lock.owns_lock()) lock.lock();
        fail(error.what());
    }
    leave(lock);
}

// Under the lock. Nothing where nobody sleeps.
void Progress::wake(Bed& bed) {
    if (std::exchange(bed.occupied, false)) ::eventfd_write(bed.wakeup.get(), 1);
}

// Under the lock: whoever waits gets this as the reason, since without a driver the rank is deaf.
void Progress::fail(const char* why) {
    failure_ = why;
    running_ = false;
    completion_.notify_all();
}

void Progress::run() {
    ::prctl(PR_SET_NAME, "csaud-progress");
    ::prctl(PR_SET_TIMERSLACK, kTimerSlackNs);
    Lock lock(mutex_);
    while (!stopping_ && failure_.empty()) {
        if (driver_ != Driver::none || monotonic_now() - caller_left_ < away_) {
            stand_by(lock);
            continue;
        }
        driver_ = Driver::thread;
        lock.unlock();
        Found found;
        try {
            do found = turn();
            while (found.more && !found.wanted && !stopping_);
            lock.lock();
        } catch (const std::exception& error) {
            lock.lock();
            fail(error.what());
        }
        driver_ = Driver::none;
        if (stopping_ || !failure_.empty()) break;
        if (waiting_ == 0) {
            sleep(lock, thread_bed_, kNever);
        } else {
            caller_left_ = monotonic_now();  // as if: it takes over when it gets the processor
            completion_.notify_all();
        }
    }
    completion_.notify_all();
}

// Until a caller has been away for a while; longer where callers come and go all the time.
void Progress::stand_by(Lock& lock) {
    std::uint64_t seen = caller_turns_;
    for (unsigned rounds = 0; !stopping_;) {
        const bool nobody = driver_ == Driver::none;
        const Nanos away = nobody ? monotonic_now() - caller_left_ : 0;
        if (nobody && away >= away_) return;
        if (driver_ == Driver::none || rounds++ < kPatience) {
            stand_by_.wait_for(lock, std::chrono::nanoseconds(away_ - away));
        } else {
            standing_by_ = true;
            stand_by_.wait(lock, [this] { return !standing_by_ || stopping_.load(); });
            standing_by_ = false;
            rounds = 0;
        }
        const bool busy = caller_turns_ - seen >= kBusy;
        away_ = busy ? std::min(kLongestStandBy, 2 * away_) : kStandBy;
        seen = caller_turns_;
    }
}

// By a caller, who has the lock and gets it back: until something was completed, or the time is over.
void Progress::drive(Lock& lock, Nanos until) {
    driver_ = Driver::caller;
    wake(thread_bed_);  // it need not wake with each packet
    Nanos idle_since = monotonic_now();
    while (completed_.empty() && failure_.empty() && !stopping_) {
        lock.unlock();
        try {
            const Found found = turn();
            const Nanos now = monotonic_now();
            const bool again = look_again(found, now, idle_since);
            lock.lock();
            if (now >= until) break;
            if (again || !completed_.empty()) continue;
            sleep(lock, caller_bed_, until);
            idle_since = monotonic_now();
            if (idle_since - now < spin_) spin_now_ = spin_;
        } catch (const std::exception& error) {
            if (!lock.owns_lock()) lock.lock();
            fail(error.what());
        }
    }
    leave(lock);
}

// Whether it is worth looking once more before sleeping. Spinning in vain shortens it; a sleep that was
// shorter than the longest spin would not have been necessary, and restores it.
bool Progress::look_again(const Found& found, Nanos now, Nanos& idle_since) {
    if (found.more || found.completed) return true;
    if (found.arrivals) {
        idle_since = now;
        return true;
    }
    if (now - idle_since < spin_now_) {
        if (++spins_ % kYieldEvery == 0) ::sched_yield();
        return true;
    }
    spin_now_ = std::max(spin_ / 8, spin_now_ / 2);
    idle_since = now;
    return false;
}

// A caller drives no longer; with the lock.
void Progress::leave(Lock&) {
    driver_ = Driver::none;
    ++caller_turns_;
    caller_left_ = monotonic_now();
    if (waiting_ != 0 || stopping_) completion_.notify_all();
    if (std::exchange(standing_by_, false)) stand_by_.notify_one();
}

// One round of receive, timers, send.
Progress::Found Progress::turn() {
    const Received arrivals = device_->receive();
    Found found;
    found.more = arrivals.more;
    found.arrivals = !arrivals.packets.empty();
    std::size_t count = 0;
    {
        const std::lock_guard lock(mutex_);
        const Nanos now = take_arrivals(arrivals);
        // Completions first: what is gathered afterwards belongs to messages that are still unfinished.
        collect_completions();
        found.completed = !completed_.empty();
        found.wanted = waiting_ != 0;
        if (found.completed && waiting_ != 0) completion_.notify_all();
        // A caller goes on with what was completed at once; what it posts then, and what is to be said of
        // what came, leave together.
        if (found.completed && driver_ == Driver::caller) {
            posted_ = true;
            return found;
        }
        posted_ = false;
        if (backlog_.packets.empty()) count = gather(now);
    }
    if (backlog_.packets.empty())
        hand_over(std::span(outgoing_).first(count));
    else
        hand_over(backlog_.packets);
    found.more = found.more || (count == outgoing_.size() && backlog_.packets.empty());
    return found;
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

std::size_t Progress::gather(Nanos now) {
    std::size_t count = 0;
    while (count < outgoing_.size() && endpoint_.next_tx(outgoing_[count], now)) {
        ++count;
        if (count % kClockEvery == 0) now = monotonic_now();
    }
    // A peer that waits for a small message takes it up while the answers to what it sent are still on their
    // way.
    if (count > 1 && count <= kFew) {
        const auto few = std::span(outgoing_).first(count);
        std::stable_partition(few.begin(), few.end(),
                              [](const TxPacket& packet) { return !packet.payload.empty(); });
    }
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

// With the lock, which is left meanwhile: until a packet, a post, the endpoint's deadline, or `until`.
void Progress::sleep(Lock& lock, Bed& bed, Nanos until) {
    if (posted_) return;  // since the last turn
    const Nanos deadline = endpoint_.next_deadline();
    const bool waiting = !backlog_.packets.empty();
    const bool blocked = waiting && backlog_.reason == SendResult::blocked;
    const bool starved = waiting && backlog_.reason == SendResult::starved;
    bed.occupied = true;
    lock.unlock();
    const Nanos now = monotonic_now();
    Nanos wake_at = deadline;
    // While nothing can be sent, the endpoint's wish to send is no reason to wake up.
    if (starved) wake_at = now + kStarvedPause;
    if (blocked) wake_at = std::max(wake_at, now + kBlockedPause);
    wake_at = std::min(wake_at, until);
    bed.list.clear();
    bed.list.push_back({bed.wakeup.get(), POLLIN, 0});
    device_->watch(bed.list, blocked);

    const Nanos left = std::max<Nanos>(0, wake_at == kNever ? 0 : wake_at - now);
    const timespec timeout{left / kSecond, left % kSecond};
    ::ppoll(bed.list.data(), bed.list.size(), wake_at == kNever ? nullptr : &timeout, nullptr);

    if (bed.list.front().revents != 0) {
        eventfd_t count = 0;
        ::eventfd_read(bed.wakeup.get(), &count);
    }
    lock.lock();
    bed.occupied = false;
}

}  // namespace csaud::device
