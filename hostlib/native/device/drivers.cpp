#include "drivers.hpp"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

#include "clock.hpp"
#include "sockets.hpp"

namespace csaud::device {
namespace {

constexpr Nanos kStarvedPause = 100 * kMicrosecond;  // before a full interface queue is tried again
constexpr Nanos kBlockedPause = kMillisecond;        // timers wait at most so long for a full socket to drain
constexpr unsigned long kTimerSlackNs = 1'000;
// A caller that comes back to wait within this time finds nobody in its place: the shorter one, or the longer
// one where callers come and go all the time. The peers see it as delay of what it left undone, and ask.
constexpr Nanos kLongestStandBy = kMillisecond;
// What it takes to get up from a sleep, with little to spare: a peer that answered meanwhile was not slow.
constexpr Nanos kGettingUp = 100 * kMicrosecond;
// A progress thread that found a caller driving so many times asks to be told instead.
constexpr unsigned kPatience = 16;
// Looks without sleeping between two offers of the processor to others.
constexpr unsigned kYieldEvery = 16;

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

Drivers::Drivers(Rounds& rounds, Results& results, std::mutex& mutex, Nanos spin)
    : rounds_(rounds), results_(results), mutex_(mutex), spin_(spin), spin_now_(spin) {
    for (Bed* bed : {&thread_bed_, &caller_bed_}) bed->wakeup = open_wakeup();
}

void Drivers::start() {
    if (of_thread_.thread.joinable()) throw std::logic_error("the progress thread runs already");
    const BlockedSignals blocked;
    running_ = true;
    process_ = ::getpid();
    of_thread_.thread = std::thread([this] { run(); });
}

bool Drivers::stop() {
    if (!of_thread_.thread.joinable()) return true;
    if (::getpid() != process_) {
        static_cast<void>(owned_.release());
        return false;
    }
    stopping_ = true;
    {
        Lock lock(mutex_);
        running_ = false;
        wake(thread_bed_);
        wake(caller_bed_);
        of_thread_.stand_by.notify_all();
        of_thread_.left.wait(lock, [this] { return driver_ == Driver::none; });
    }
    of_thread_.thread.join();
    const std::lock_guard lock(mutex_);
    results_.fail("the transport is closed");
    return true;
}

void Drivers::await(Lock& lock, Wanted wanted, Nanos timeout) {
    if (results_.over(wanted) || timeout <= 0) return;
    const Nanos until = monotonic_now() + timeout;
    for (Nanos left = timeout; !results_.over(wanted) && left > 0; left = until - monotonic_now()) {
        if (drivable()) {
            drive(lock, wanted, until);
            continue;
        }
        Results::Waiter me(results_, wanted);
        me.wakeup.wait_for(lock, std::chrono::nanoseconds(left),
                           [&] { return results_.over(wanted) || drivable(); });
    }
    // It may have been called to drive when it had what it wanted.
    if (driver_ == Driver::none) results_.call_next();
}

void Drivers::after_post(Lock& lock, bool send) {
    rounds_.note_post();
    wake(thread_bed_);
    wake(caller_bed_);
    if (!send || !drivable()) return;
    driver_ = Driver::caller;
    push(lock);
    leave();
}

void Drivers::post_and_await(Lock& lock, Wanted wanted, Nanos timeout) {
    rounds_.note_post();
    if (drivable())
        drive(lock, wanted, monotonic_now() + timeout);
    else
        wake(caller_bed_);
    await(lock, wanted, timeout);
}

void Drivers::wait_for_leave(Lock& lock, Nanos time) {
    of_thread_.left.wait_for(lock, std::chrono::nanoseconds(time));
}

// Nothing where nobody sleeps.
void Drivers::wake(Bed& bed) {
    if (std::exchange(bed.occupied, false)) ::eventfd_write(bed.wakeup.get(), 1);
}

void Drivers::run() {
    ::prctl(PR_SET_NAME, "csaud-progress");
    ::prctl(PR_SET_TIMERSLACK, kTimerSlackNs);
    Lock lock(mutex_);
    while (!stopping_ && !results_.failed()) {
        if (!takes_over()) {
            stand_by(lock);
            continue;
        }
        driver_ = Driver::thread;
        left_work_ = false;
        lock.unlock();
        Rounds::Found found;
        try {
            do found = rounds_.turn(false);
            while (found.more && !found.wanted && !stopping_);
            lock.lock();
        } catch (const std::exception& error) {
            lock.lock();
            results_.fail(error.what());
        }
        driver_ = Driver::none;
        if (stopping_ || results_.failed()) break;
        if (!results_.awaited()) {
            sleep(lock, thread_bed_, kNever);
        } else {
            caller_left_ = monotonic_now();  // as if: it takes over when it gets the processor
            results_.call_next();
        }
    }
    of_thread_.left.notify_all();
}

// Of the progress thread.
bool Drivers::takes_over() const {
    return driver_ == Driver::none && (left_work_ || monotonic_now() - caller_left_ >= away_);
}

// Until the progress thread takes over. Where callers come and go all the time it looks up more seldom: each
// look would take the processor from one of them.
void Drivers::stand_by(Lock& lock) {
    std::uint64_t seen = caller_turns_;
    for (unsigned rounds = 0; !stopping_ && !takes_over();) {
        if (driver_ == Driver::none || rounds++ < kPatience) {
            const Nanos away = driver_ == Driver::none ? monotonic_now() - caller_left_ : 0;
            of_thread_.stand_by.wait_for(lock, std::chrono::nanoseconds(std::max<Nanos>(away_ - away, 0)));
        } else {
            standing_by_ = true;
            of_thread_.stand_by.wait(lock, [this] { return !standing_by_ || stopping_.load(); });
            standing_by_ = false;
            rounds = 0;
        }
        away_ = caller_turns_ != seen ? std::min(kLongestStandBy, 2 * away_) : kStandBy;
        seen = caller_turns_;
    }
}

// By a caller, who has the lock and gets it back: until what it waits for is over, or the time.
void Drivers::drive(Lock& lock, Wanted wanted, Nanos until) {
    driver_ = Driver::caller;
    wake(thread_bed_);  // it need not wake with each packet
    if (rounds_.posted()) push(lock);
    Nanos idle_since = monotonic_now();
    while (!results_.over(wanted) && !stopping_) {
        lock.unlock();
        try {
            const Rounds::Found found = rounds_.turn(true);
            const Nanos now = monotonic_now();
            const bool again = look_again(found, now, idle_since);
            lock.lock();
            if (now >= until) break;
            if (again || results_.over(wanted)) continue;
            sleep(lock, caller_bed_, until);
            idle_since = monotonic_now();
            if (idle_since - now < spin_ + kGettingUp) spin_now_ = spin_;
        } catch (const std::exception& error) {
            if (!lock.owns_lock()) lock.lock();
            results_.fail(error.what());
        }
    }
    leave();
}

// Whether it is worth looking once more before sleeping. Spinning in vain shortens it; a sleep that took
// little longer than getting up does would not have been necessary, and restores it.
bool Drivers::look_again(const Rounds::Found& found, Nanos now, Nanos& idle_since) {
    if (found.more) return true;
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

// By the driver, with the lock, which is left meanwhile.
void Drivers::push(Lock& lock) {
    try {
        rounds_.push(lock);
    } catch (const std::exception& error) {
        if (!lock.owns_lock()) lock.lock();
        results_.fail(error.what());
    }
}

// A caller drives no longer; with the lock.
void Drivers::leave() {
    driver_ = Driver::none;
    ++caller_turns_;
    caller_left_ = monotonic_now();
    results_.call_next();
    if (stopping_) of_thread_.left.notify_all();
    left_work_ = rounds_.executor().running() != 0 && !results_.awaited();
    if (std::exchange(standing_by_, false) || left_work_) of_thread_.stand_by.notify_one();
}

// With the lock, which is left meanwhile: until a packet, a post, the endpoint's deadline, or `until`.
void Drivers::sleep(Lock& lock, Bed& bed, Nanos until) {
    if (rounds_.has_work()) return;  // since the last turn
    const Rounds::Pause pause = rounds_.pause();
    bed.occupied = true;
    lock.unlock();
    const Nanos now = monotonic_now();
    Nanos wake_at = pause.deadline;
    // While nothing can be sent, the endpoint's wish to send is no reason to wake up.
    if (pause.starved) wake_at = now + kStarvedPause;
    if (pause.blocked) wake_at = std::max(wake_at, now + kBlockedPause);
    wake_at = std::min(wake_at, until);
    bed.list.clear();
    bed.list.push_back({bed.wakeup.get(), POLLIN, 0});
    rounds_.watch(bed.list, pause.blocked);

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
