// What callers wait for: completions of no execution, ends of executions, and that nobody drives any more;
// and who waits. All of it under the lock of the endpoint.
#pragma once

#include <condition_variable>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "collectives/executor.hpp"

namespace csaud::device {

using Lock = std::unique_lock<std::mutex>;

// What a caller waits for: the end of one of these executions; without any, a completion of none.
using Wanted = std::span<const collectives::Execution* const>;

class Results {
  public:
    // A caller that waits while somebody else drives: to drive when nobody does, or only to watch.
    class Waiter {
      public:
        Waiter(Results& results, Wanted wanted, bool may_drive = true)
            : place_(may_drive ? results.waiters_ : results.watchers_), wanted_(wanted) {
            place_.push_back(this);
        }
        ~Waiter() { std::erase(place_, this); }
        Waiter(const Waiter&) = delete;
        Waiter& operator=(const Waiter&) = delete;

        std::condition_variable wakeup;

      private:
        friend class Results;
        std::vector<Waiter*>& place_;
        const Wanted wanted_;
    };

    // What a caller waits for has come, or never will.
    bool over(Wanted) const;

    void add(const Completion& completion) { completed_.push_back(completion); }
    bool any() const noexcept { return !completed_.empty(); }
    // Appends all completions, in order.
    void take(std::vector<Completion>&);

    // Why nobody drives any more; the first reason stays. Whoever waits is told: without a driver the rank is
    // deaf.
    void fail(const char* why);
    bool failed() const noexcept { return !failure_.empty(); }
    // Throws std::runtime_error with the reason, if there is one.
    void check() const;

    bool awaited() const noexcept { return !waiters_.empty(); }
    // Wakes those alone whose wait is over.
    void tell();
    // Who watches, or will next, looks up at once, and forgets it then.
    void recall();
    bool recalled() const noexcept { return recalled_; }
    void forget_recall() noexcept { recalled_ = false; }
    // Nobody drives: wakes one of those that wait, who does.
    void call_next();

  private:
    std::vector<Completion> completed_;  // of no execution
    std::string failure_;
    std::vector<Waiter*> waiters_;
    std::vector<Waiter*> watchers_;
    bool recalled_ = false;
};

}  // namespace csaud::device
