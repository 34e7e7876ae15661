// Who drives when: callers that wait, and the progress thread when none does.
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "clock.hpp"
#include "progress.hpp"

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
// An offer that was not taken is over sooner.
constexpr Nanos kTaken = 4 * kSecond;

}  // namespace

// Under the lock. Nothing where nobody sleeps.
void Progress::wake(Bed& bed) {
    if (std::exchange(bed.occupied, false)) ::eventfd_write(bed.wakeup.get(), 1);
}

// Under the lock: whoever waits gets this as the reason, since without a driver the rank is deaf.
void Progress::fail(const char* why) {
    failure_ = why;
    running_ = false;
    tell_waiters();
}

void Progress::run() {
    ::prctl(PR_SET_NAME, "csaud-progress");
    ::prctl(PR_SET_TIMERSLACK, kTimerSlackNs);
    Lock lock(mutex_);
    while (!stopping_ && failure_.empty()) {
        if (!takes_over()) {
            stand_by(lock);
            continue;
        }
        driver_ = Driver::thread;
        left_work_ = false;
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
        if (waiters_.empty()) {
            sleep(lock, thread_bed_, kNever);
        } else {
            caller_left_ = monotonic_now();  // as if: it takes over when it gets the processor
            call_next();
        }
    }
    left_.notify_all();
}

// Under the lock, of the progress thread.
bool Progress::takes_over() const {
    return driver_ == Driver::none && (left_work_ || monotonic_now() - caller_left_ >= away_);
}

// Until the progress thread takes over. Where callers come and go all the time it looks up more seldom: each
// look would take the processor from one of them.
void Progress::stand_by(Lock& lock) {
    std::uint64_t seen = caller_turns_;
    for (unsigned rounds = 0; !stopping_ && !takes_over();) {
        if (driver_ == Driver::none || rounds++ < kPatience) {
            const Nanos away = driver_ == Driver::none ? monotonic_now() - caller_left_ : 0;
            stand_by_.wait_for(lock, std::chrono::nanoseconds(std::max<Nanos>(away_ - away, 0)));
        } else {
            standing_by_ = true;
            stand_by_.wait(lock, [this] { return !standing_by_ || stopping_.load(); });
            standing_by_ = false;
            rounds = 0;
        }
        away_ = caller_turns_ != seen ? std::min(kLongestStandBy, 2 * away_) : kStandBy;
        seen = caller_turns_;
    }
}

// What a caller waits for has come, or never will.
bool Progress::over(Wanted wanted) const {
    if (!failure_.empty()) return true;
    return wanted.empty() ? !completed_.empty() : std::ranges::any_of(wanted, &collectives::Execution::over);
}

// By a caller, who has the lock and gets it back.
void Progress::await(Lock& lock, Wanted wanted, Nanos timeout) {
    if (over(wanted) || timeout <= 0) return;
    const Nanos until = monotonic_now() + timeout;
    for (Nanos left = timeout; !over(wanted) && left > 0; left = until - monotonic_now()) {
        if (driver_ == Driver::none && running_) {
            drive(lock, wanted, until);
            continue;
        }
        Waiter me{wanted, {}};
        waiters_.push_back(&me);
        me.wakeup.wait_for(lock, std::chrono::nanoseconds(left),
                           [&] { return over(wanted) || (driver_ == Driver::none && running_); });
        std::erase(waiters_, &me);
    }
    // It may have been called to drive when it had what it wanted.
    if (driver_ == Driver::none) call_next();
}

// Under the lock: only those wake whose wait is over.
void Progress::tell_waiters() {
    for (Waiter* waiter : waiters_) {
        if (over(waiter->wanted)) waiter->wakeup.notify_one();
    }
}

// Under the lock, when nobody drives: one of those that wait does.
void Progress::call_next() {
    if (!waiters_.empty()) waiters_.front()->wakeup.notify_one();
}

// By a caller, who has the lock and gets it back: until what it waits for is over, or the time.
void Progress::drive(Lock& lock, Wanted wanted, Nanos until) {
    driver_ = Driver::caller;
    wake(thread_bed_);  // it need not wake with each packet
    if (posted_) push(lock);
    Nanos idle_since = monotonic_now();
    while (!over(wanted) && !stopping_) {
        lock.unlock();
        try {
            const Found found = turn();
            const Nanos now = monotonic_now();
            const bool again = look_again(found, now, idle_since);
            lock.lock();
            if (now >= until) break;
            if (again || over(wanted)) continue;
            sleep(lock, caller_bed_, until);
            idle_since = monotonic_now();
            if (idle_since - now < spin_ + kGettingUp) spin_now_ = spin_;
        } catch (const std::exception& error) {
            if (!lock.owns_lock()) lock.lock();
            fail(error.what());
        }
    }
    leave(lock);
}

// Whether it is worth looking once more before sleeping. Spinning in vain shortens it; a sleep that took
// little longer than getting up does would not have been necessary, and restores it.
bool Progress::look_again(const Found& found, Nanos now, Nanos& idle_since) {
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

// A caller drives no longer; with the lock.
void Progress::leave(Lock&) {
    driver_ = Driver::none;
    ++caller_turns_;
    caller_left_ = monotonic_now();
    call_next();
    if (stopping_) left_.notify_all();
    left_work_ = executor_.running() != 0 && waiters_.empty();
    if (std::exchange(standing_by_, false) || left_work_) stand_by_.notify_one();
}

// With the lock, which is left meanwhile: until a packet, a post, the endpoint's deadline, or `until`.
void Progress::sleep(Lock& lock, Bed& bed, Nanos until) {
    if (posted_ || executor_.has_work()) return;  // since the last turn
    const Nanos deadline = endpoint_.next_deadline();
    const bool waiting = outbox_.has_rest();
    const bool blocked = waiting && outbox_.reason() == SendResult::blocked;
    const bool starved = waiting && outbox_.reason() == SendResult::starved;
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
