#include "csaud_sim/baselines/go_back_n.hpp"

#include <algorithm>

namespace csaud::sim::baselines {

SendOrder::Next GoBackN::take(Nanos now) {
    const std::uint32_t psn = next_++;
    const Cause cause = psn < sent_ ? cause_ : Cause::first;
    sent_ = std::max(sent_, next_);
    if (deadline_ == kNever) deadline_ = now + timeout_;
    return {psn, cause};
}

void GoBackN::answered(const Answer& answer, Nanos now) {
    if (answer.ack > acked_) {
        acked_ = answer.ack;
        next_ = std::max(next_, acked_);
        deadline_ = acked_ < sent_ ? now + timeout_ : kNever;
        deaf_until_ = now;
    }
    if (answer.negative && answer.ack == acked_ && next_ > acked_ && now >= deaf_until_) {
        next_ = acked_;
        cause_ = Cause::gap;
        deaf_until_ = now + guard_;
        deadline_ = now + timeout_;
    }
}

bool GoBackN::timer(Nanos now) {
    if (deadline_ > now) return false;
    next_ = acked_;
    cause_ = Cause::timeout;
    deadline_ = now + timeout_;
    return true;
}

ReceiveOrder::Reply InOrder::data(std::uint32_t psn, Nanos now) {
    if (psn == expected_) {
        ++expected_;
        return {Verdict::taken, true, {expected_, psn, false}};
    }
    if (psn < expected_) return {Verdict::duplicate, true, {expected_, psn, false}};
    const bool tell = nacked_ != expected_ || now >= again_at_;
    if (tell) {
        nacked_ = expected_;
        again_at_ = now + nack_every_;
    }
    return {Verdict::discarded, tell, {expected_, psn, true}};
}

}  // namespace csaud::sim::baselines
