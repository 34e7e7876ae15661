#include "csaud_sim/baselines/selective_repeat.hpp"

#include <algorithm>

namespace csaud::sim::baselines {

std::uint32_t SelectiveRepeat::hole() const {
    std::uint32_t psn = std::max(again_, acked_);
    while (psn < limit() && arrived(psn)) ++psn;
    return psn;
}

SendOrder::Next SelectiveRepeat::take(Nanos now) {
    if (deadline_ == kNever) {
        progress_ = now;
        deadline_ = now + timeouts_.low;  // looked at again then
    }
    if (const std::uint32_t psn = hole(); psn < limit()) {
        again_ = psn + 1;
        return {psn, cause_};
    }
    return {next_++, Cause::first};
}

Nanos SelectiveRepeat::due() const {
    return progress_ + (next_ - acked_ < timeouts_.few ? timeouts_.low : timeouts_.high);
}

void SelectiveRepeat::enter(Cause cause) {
    recovering_ = true;
    cause_ = cause;
    recovery_ends_ = next_;
    again_ = acked_;
    lost_below_ = std::max(lost_below_, acked_ + 1);
}

void SelectiveRepeat::answered(const Answer& answer, Nanos now) {
    if (answer.ack > acked_) {
        const std::uint32_t more = answer.ack - acked_;
        sacked_.erase(sacked_.begin(), sacked_.begin() + std::min<std::ptrdiff_t>(more, std::ssize(sacked_)));
        acked_ = answer.ack;
        if (recovering_ && acked_ >= recovery_ends_) recovering_ = false;
        progress_ = now;
        deadline_ = acked_ < next_ ? due() : kNever;
    }
    if (!answer.negative || answer.psn < acked_) return;
    const std::size_t place = answer.psn - acked_;
    if (place >= sacked_.size()) sacked_.resize(place + 1);
    sacked_[place] = true;
    if (!recovering_) enter(Cause::gap);
    lost_below_ = std::max(lost_below_, answer.psn);
}

bool SelectiveRepeat::timer(Nanos now) {
    // More may be under way than when it was armed.
    deadline_ = std::max(deadline_, due());
    if (deadline_ > now) return false;
    enter(Cause::timeout);
    progress_ = now;
    deadline_ = due();
    return true;
}

ReceiveOrder::Reply OutOfOrder::data(std::uint32_t psn, Nanos) {
    if (psn < expected_) return {Verdict::duplicate, true, {expected_, psn, false}};
    const std::size_t place = psn - expected_;
    if (place < came_.size() && came_[place]) return {Verdict::duplicate, true, {expected_, psn, true}};
    if (place >= came_.size()) came_.resize(place + 1);
    came_[place] = true;
    while (!came_.empty() && came_.front()) {
        came_.pop_front();
        ++expected_;
    }
    return {Verdict::taken, true, {expected_, psn, psn >= expected_}};
}

}  // namespace csaud::sim::baselines
