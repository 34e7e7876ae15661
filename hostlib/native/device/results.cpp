#include "results.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace csaud::device {

bool Results::over(Wanted wanted) const {
    if (failed()) return true;
    return wanted.empty() ? any() : std::ranges::any_of(wanted, &collectives::Execution::over);
}

void Results::take(std::vector<Completion>& completions) {
    std::ranges::move(completed_, std::back_inserter(completions));
    completed_.clear();
}

void Results::fail(const char* why) {
    if (!failed()) failure_ = why;
    tell();
}

void Results::check() const {
    if (failed()) throw std::runtime_error(failure_);
}

void Results::tell() {
    for (const auto* all : {&waiters_, &watchers_}) {
        for (Waiter* waiter : *all) {
            if (over(waiter->wanted_)) waiter->wakeup.notify_one();
        }
    }
}

void Results::recall() {
    recalled_ = true;
    for (Waiter* watcher : watchers_) watcher->wakeup.notify_one();
}

void Results::call_next() {
    if (awaited()) waiters_.front()->wakeup.notify_one();
}

}  // namespace csaud::device
