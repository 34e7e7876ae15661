// Who drives the rounds, and when: the thread that waits for a completion itself, or else a thread of its
// own.
//
// A thread in wait() drives: it receives, runs timers and sends, so that no other thread has to be woken on
// the way of a message. It looks for packets without sleeping for a short while first. When nobody waits, the
// progress thread takes over: it answers the peers whatever the application does and never touches Python, so
// a rank that computes or holds Python's lock still goes on with its collectives, acknowledges, repeats and
// proves that it is alive. It sleeps in ppoll until a packet comes, until the endpoint's next deadline, or
// until a post wakes it.
//
// Between two waits of an application that is busy with messages the progress thread stands by for a moment
// instead of taking over, since it would only be in the way.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "file_descriptor.hpp"
#include "results.hpp"
#include "rounds.hpp"

namespace csaud::device {

class Drivers {
  public:
    // `spin`: the longest time that a waiting thread looks for packets without sleeping.
    Drivers(Rounds& rounds, Results& results, std::mutex& mutex, Nanos spin);
    ~Drivers() { stop(); }
    Drivers(const Drivers&) = delete;
    Drivers& operator=(const Drivers&) = delete;

    // Starts the progress thread, and ends it. After stop() nobody drives any more; false: in a process that
    // was forked from that of the thread, where neither thread nor lock are to be had.
    void start();
    bool stop();

    // By callers, who have the lock and get it back.

    // Drives, or waits for who does, until what is wanted has come, or the time.
    void await(Lock&, Wanted, Nanos timeout);
    // Something was given to the endpoint. Where nobody drives, what is to be sent (`send`) leaves at once.
    void after_post(Lock&, bool send);
    // As after_post() and await(), but where nobody drives without leaving the device in between.
    void post_and_await(Lock&, Wanted, Nanos timeout);
    // Nobody drives any more, or so much time is over.
    void wait_for_leave(Lock& lock, Nanos time);

  private:
    // Who works with the device. Whoever it is leaves the lock while it does.
    enum class Driver : std::uint8_t { none, thread, caller };

    // How a driver is woken from its sleep.
    struct Bed {
        FileDescriptor wakeup;
        std::vector<pollfd> list;
        bool occupied = false;  // under the lock
    };

    // Under the lock.
    bool drivable() const noexcept { return driver_ == Driver::none && running_ && !results_.failed(); }
    bool takes_over() const;
    static void wake(Bed&);

    void run();
    void stand_by(Lock&);
    void drive(Lock&, Wanted, Nanos until);
    bool look_again(const Rounds::Found&, Nanos now, Nanos& idle_since);
    void push(Lock&);
    void leave();
    void sleep(Lock&, Bed&, Nanos until);

    Rounds& rounds_;
    Results& results_;
    std::mutex& mutex_;
    const Nanos spin_;

    // The driver's own.
    unsigned spins_ = 0;
    Nanos spin_now_;  // shorter while spinning was in vain

    // Under the lock, down to the thread.
    bool running_ = false;
    Driver driver_ = Driver::none;
    Nanos caller_left_ = 0;           // when a caller last drove
    std::uint64_t caller_turns_ = 0;  // how often callers drove
    // How long a caller must be away before the progress thread takes over, unless it left work behind.
    static constexpr Nanos kStandBy = 200 * kMicrosecond;
    Nanos away_ = kStandBy;
    bool left_work_ = false;    // a caller went away while collectives run
    bool standing_by_ = false;  // the progress thread wants to be told when a caller leaves
    Bed thread_bed_;
    Bed caller_bed_;

    std::atomic<bool> stopping_ = false;
    pid_t process_ = 0;  // that has the thread
    // A forked process has neither the thread nor those that waited here, and can destroy none of it.
    struct OfThread {
        std::condition_variable left;  // nobody drives any more
        std::condition_variable stand_by;
        std::thread thread;
    };
    std::unique_ptr<OfThread> owned_ = std::make_unique<OfThread>();
    OfThread& of_thread_ = *owned_;
};

}  // namespace csaud::device
