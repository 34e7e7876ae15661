#include "csaud_sim/hosts/agenda.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace csaud::sim {

void Agenda::start(collectives::Execution& execution, Nanos at) {
    if (at < engine_.now())
        throw std::invalid_argument("time " + std::to_string(at) + " lies before the present, " +
                                    std::to_string(engine_.now()));
    starts_.emplace(at, &execution);
    report();
    engine_.at(at, host_, kStart);
}

void Agenda::follow(collectives::Execution& execution, Nanos delay) {
    followers_.push_back({&execution, delay});
    report();
}

void Agenda::start_now(collectives::Execution& execution, Nanos now) {
    executor_.start(execution, party_.port(), party_.local(now));
}

void Agenda::act(std::uint32_t what, Nanos now) {
    if (what == kStart) {
        while (!starts_.empty() && starts_.begin()->first <= now) {
            collectives::Execution& execution = *starts_.begin()->second;
            starts_.erase(starts_.begin());
            start_now(execution, now);
        }
    }
    if (what == kFollow) {
        const Follower next = followers_.front();
        followers_.pop_front();
        follower_armed_ = false;
        start_now(*next.execution, now);
    }
}

void Agenda::take(const Completion& completion, Nanos local) {
    executor_.on_completion(completion, party_.port(), local);
    while (const auto piece = executor_.next_piece()) {
        piece->work();
        executor_.on_piece(party_.port(), local);
    }
}

void Agenda::end_turn(Nanos now) {
    if (!followers_.empty() && !follower_armed_ && executor_.running() == 0 && starts_.empty()) {
        follower_armed_ = true;
        engine_.at(now + followers_.front().delay, host_, kFollow);
    }
    report();
}

void Agenda::drop() {
    dropped_ = true;
    report();
}

void Agenda::report() {
    const std::size_t open =
        dropped_ ? std::size_t{0} : executor_.running() + starts_.size() + followers_.size();
    if (!failed_ && executor_.failure()) {
        failed_ = true;
        open_work_.failed();
    }
    const std::size_t before = std::exchange(reported_, open);
    if (open > before) open_work_.begin(open - before);
    if (open < before) open_work_.end(before - open);
}

}  // namespace csaud::sim
