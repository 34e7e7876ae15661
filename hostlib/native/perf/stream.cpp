#include "stream.hpp"

#include <algorithm>

#include "clock.hpp"

namespace csaud::perf {

using device::monotonic_now;

Stream::Stream(device::Progress& progress, const StreamPlan& plan, std::span<std::byte> buffer)
    : progress_(progress), plan_(plan), buffer_(buffer), sending_(plan.depth), receiving_(plan.depth) {
    times_.reserve(plan.messages);
    // Nothing is answered before its receive is posted.
    if (receives()) {
        while (recvs_posted_ < std::min(plan_.messages, plan_.depth)) post_recv(recvs_posted_);
    }
    begun_ = ended_ = monotonic_now();
    post_more();
}

std::size_t Stream::parts() const {
    const std::size_t most = progress_.max_message_bytes();
    return std::max<std::size_t>(1, (plan_.bytes + most - 1) / most);
}

MessageName Stream::name(std::uint32_t message, std::size_t part, std::uint16_t from) const {
    // Question and answer are told apart by the rank that sends them.
    return {plan_.comm, plan_.epoch, plan_.first + message, 0, from, static_cast<std::uint16_t>(part)};
}

std::span<std::byte> Stream::part_of(std::size_t place, std::size_t part) const {
    const std::size_t most = progress_.max_message_bytes();
    const std::size_t begin = part * most;
    return buffer_.subspan(place * plan_.bytes + begin, std::min(most, plan_.bytes - begin));
}

void Stream::post_send(std::uint32_t message) {
    sending_[message % sending_.size()] = {monotonic_now(), parts()};
    for (std::size_t part = 0; part < parts(); ++part)
        progress_.post_send(name(message, part, plan_.rank), plan_.peer, part_of(0, part), {});
    ++sends_posted_;
}

void Stream::post_recv(std::uint32_t message) {
    const std::size_t first = sends() ? 1 : 0;
    receiving_[message % receiving_.size()] = {0, parts()};
    for (std::size_t part = 0; part < parts(); ++part)
        progress_.post_recv(name(message, part, plan_.peer), plan_.peer,
                            part_of(first + message % plan_.depth, part), {});
    ++recvs_posted_;
}

void Stream::post_more() {
    // An answer is waited for: it goes first.
    if (sends()) {
        std::uint32_t allowed = oldest_send_ + plan_.depth;
        if (plan_.role == Role::ping) allowed = std::min(allowed, recvs_ended_ + 1);
        if (plan_.role == Role::pong) allowed = std::min(allowed, recvs_ended_);
        while (sends_posted_ < std::min(plan_.messages, allowed)) post_send(sends_posted_);
    }
    if (!receives()) return;
    while (recvs_posted_ < plan_.messages && recvs_posted_ < oldest_recv_ + plan_.depth)
        post_recv(recvs_posted_);
}

void Stream::take(const Completion& completion) {
    if (completion.status != Status::ok) {
        if (!failed_) failed_ = completion;
        return;
    }
    const bool is_send = completion.kind == CompletionKind::send;
    const std::uint32_t number = completion.name.coll_seq - plan_.first;
    Message& message = is_send ? sending_[number % sending_.size()] : receiving_[number % receiving_.size()];
    if (--message.parts_left != 0) return;
    ++(is_send ? sends_ended_ : recvs_ended_);
    // Under loss messages end out of order; the next ones wait for the oldest, whose place they take.
    if (is_send)
        while (oldest_send_ < sends_posted_ && sending_[oldest_send_ % sending_.size()].parts_left == 0)
            ++oldest_send_;
    else
        while (oldest_recv_ < recvs_posted_ && receiving_[oldest_recv_ % receiving_.size()].parts_left == 0)
            ++oldest_recv_;
    ended_ = completion.finished_ns;
    if (plan_.role == Role::send) times_.push_back(completion.finished_ns - message.posted);
    if (is_send) return;
    if (plan_.role == Role::ping)
        times_.push_back(monotonic_now() - sending_[number % sending_.size()].posted);
    else
        times_.push_back(completion.finished_ns - completion.started_ns);
}

bool Stream::run(Nanos slice) {
    const Nanos end = monotonic_now() + slice;
    for (;;) {
        const bool all_sent = !sends() || sends_ended_ == plan_.messages;
        const bool all_received = !receives() || recvs_ended_ == plan_.messages;
        if (failed_ || (all_sent && all_received)) return true;
        const Nanos left = end - monotonic_now();
        if (left <= 0) return false;
        completions_.clear();
        if (!progress_.wait(completions_, left)) return false;
        for (const Completion& completion : completions_) take(completion);
        post_more();
    }
}

}  // namespace csaud::perf
