#include "collectives/executor.hpp"

#include <algorithm>
#include <utility>

namespace csaud::collectives {

namespace {

// Reductions of at most so many bytes are done at once: less than a microsecond.
constexpr std::size_t kAtOnce = 4096;
// A piece of a longer one: small enough for a cache, and some tens of microseconds.
constexpr std::size_t kPiece = 128 << 10;

}  // namespace

void Executor::start(Execution& execution, Port& port, Nanos now) {
    execution.began_ = now;
    execution.state_.store(Execution::State::running, std::memory_order_release);
    if (failure_) {
        execution.failure_ = *failure_;
        execution.state_.store(Execution::State::failed, std::memory_order_release);
        execution.settled_.store(true, std::memory_order_release);
        return;
    }
    if (execution.unfinished_ == 0) return end(execution, now);
    running_.push_back(&execution);
    for (const std::uint32_t index : execution.plan().begin()) {
        if (launch(execution, index, port, now)) finish(execution, index, port, now);
    }
}

bool Executor::on_completion(const Completion& completion, Port& port, Nanos now) {
    const Target* found = transfers_.find({completion.id});
    if (found == nullptr) return false;
    const std::uint32_t index = found->operation;
    Execution* const owner = found->execution;
    transfers_.erase({completion.id});
    if (owner == nullptr) {
        send_buffers_.give_back(index);
        if (!failure_ && completion.status != Status::ok) fail(completion);
        return true;
    }
    Execution& execution = *owner;
    --execution.open_;
    if (failure_) {
        if (execution.open_ == 0) execution.settled_.store(true, std::memory_order_release);
        return true;
    }
    if (completion.status != Status::ok) {
        fail(completion);
        return true;
    }
    execution.posted_[index].open = false;
    if (completion.kind == CompletionKind::recv) {
        execution.step_ended_[execution.operation(index).step] = now;
        if (completion.bytes != 0) flow_times_.add(completion.finished_ns - completion.started_ns);
    }
    finish(execution, index, port, now);
    return true;
}

// True: it is done already.
bool Executor::launch(Execution& execution, std::uint32_t index, Port& port, Nanos now) {
    const Operation& op = execution.operation(index);
    if (op.kind == Kind::send && post_copy(execution, index, port, now)) return true;
    if (op.kind != Kind::reduce) {
        post(execution, index, port, now);
        return false;
    }
    const Work work{&execution, index};
    if (op.region.count * execution.collective_->element_bytes > kAtOnce) {
        work_.push_back(work);
        return false;
    }
    if (op.region.count != 0) piece(work, op.region.count).work();
    return true;
}

void Executor::post(Execution& execution, std::uint32_t index, Port& port, Nanos now) {
    const Operation& op = execution.operation(index);
    const MessageName name = execution.name_of(op, rank_, epoch_);
    const Hints hints = execution.hints_of(op);
    const std::uint16_t peer = execution.collective_->ranks[op.peer];
    const std::span<std::byte> bytes = execution.bytes(op.region);
    const std::uint64_t id = op.kind == Kind::send ? port.post_send(name, peer, bytes, hints, now)
                                                   : port.post_recv(name, peer, bytes, hints, now);
    execution.posted_[index] = {id, true};
    ++execution.open_;
    transfers_.put({id}, {&execution, index});
}

// False: it has to be posted as it is.
bool Executor::post_copy(Execution& execution, std::uint32_t index, Port& port, Nanos now) {
    if (!execution.plan().receives()) return false;
    const Operation& op = execution.operation(index);
    const auto copy = send_buffers_.copy(execution.bytes(op.region));
    if (!copy) return false;
    const std::uint64_t id =
        port.post_send(execution.name_of(op, rank_, epoch_), execution.collective_->ranks[op.peer],
                       copy->bytes, execution.hints_of(op), now);
    transfers_.put({id}, {nullptr, copy->place});
    return true;
}

// `index` is done; goes on with the operations that waited for nothing else, in the order of the schedule,
// each with what follows it before the next one.
void Executor::finish(Execution& execution, std::uint32_t index, Port& port, Nanos now) {
    ready_.clear();
    finish_one(execution, index, now);
    while (!ready_.empty()) {
        const std::uint32_t next = ready_.back();
        ready_.pop_back();
        if (launch(execution, next, port, now)) finish_one(execution, next, now);
    }
}

void Executor::finish_one(Execution& execution, std::uint32_t index, Nanos now) {
    if (--execution.unfinished_ == 0) return end(execution, now);
    const std::size_t known = ready_.size();
    for (const std::uint32_t follower : execution.plan().followers(index)) {
        if (--execution.waiting_[follower] == 0) ready_.push_back(follower);
    }
    std::ranges::reverse(std::span(ready_).subspan(known));
}

// Its owner may let it go as soon as it is seen to have settled.
void Executor::end(Execution& execution, Nanos now) {
    if (execution.collective_->times && !execution.plan().operations().empty())
        execution.collective_->times->learn(execution.began_, execution.step_ended_);
    std::erase(running_, &execution);
    execution.ended_at_ = now;
    execution.state_.store(Execution::State::ended, std::memory_order_release);
    execution.settled_.store(true, std::memory_order_release);
}

void Executor::fail(const Completion& completion) {
    failure_ = completion;
    work_.clear();
    for (Execution* execution : std::exchange(running_, {})) {
        execution->failure_ = completion;
        execution->state_.store(Execution::State::failed, std::memory_order_release);
        if (execution->open_ == 0) execution->settled_.store(true, std::memory_order_release);
    }
}

std::optional<Piece> Executor::next_piece() {
    if (work_.empty()) return std::nullopt;
    const Work& work = work_.front();
    const std::uint64_t left = work.execution->operation(work.operation).region.count - work.done;
    taken_ = std::min<std::uint64_t>(left, kPiece / work.execution->collective_->element_bytes);
    return piece(work, taken_);
}

void Executor::on_piece(Port& port, Nanos now) {
    Work& work = work_.front();
    work.done += taken_;
    Execution& execution = *work.execution;
    const std::uint32_t index = work.operation;
    if (work.done < execution.operation(index).region.count) return;
    work_.pop_front();
    finish(execution, index, port, now);
}

Piece Executor::piece(const Work& work, std::uint64_t most) {
    const Execution& execution = *work.execution;
    const Operation& op = execution.operation(work.operation);
    const std::size_t offset = work.done * execution.collective_->element_bytes;
    return {execution.collective_->combine, execution.bytes(op.first).data() + offset,
            execution.bytes(op.second).data() + offset, execution.bytes(op.region).data() + offset, most};
}

}  // namespace csaud::collectives
