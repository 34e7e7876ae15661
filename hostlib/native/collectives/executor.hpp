// Runs executions: posts what waits for nothing, and what follows each completion; reduces.
//
// No I/O, no clock, no thread: completions and the time go in, posts go out through the port. Knows no
// algorithm. Reductions have the operand order of the schedule, so a result depends on it alone and not on
// which message came first. Those of few bytes are done at once; longer ones wait as work, of which the
// caller takes a piece after the other, without a lock if it likes, so that packets need not wait for them.
//
// A short message of a plan that also receives is sent from a copy and counts as done once it is posted: this
// rank is over when it has what it needs, and waits for no acknowledgement. Of one that only sends, which
// says to its caller that the others have it, it does not. If such a message fails, it is what comes after
// its collective that hears of it.
//
// Not thread-safe: the caller serialises all but the work on a piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "collectives/execution.hpp"
#include "collectives/flow_times.hpp"
#include "collectives/port.hpp"
#include "collectives/send_buffers.hpp"
#include "csaud_host/base/flat_map.hpp"

namespace csaud::collectives {

// A part of a reduction.
struct Piece {
    Combine combine = nullptr;
    const std::byte* first = nullptr;
    const std::byte* second = nullptr;
    std::byte* into = nullptr;
    std::size_t count = 0;

    void work() const noexcept { combine(first, second, into, count); }
};

class Executor {
  public:
    // `rank` of the job, and the job's epoch: parts of every message's name.
    Executor(std::uint16_t rank, std::uint16_t epoch) : rank_(rank), epoch_(epoch) {}

    // An execution must live until it has settled, or until the executor is not called any more. Posts all
    // receives first, so that what comes is expected and needs no room in the pool of early arrivals.
    void start(Execution&, Port&, Nanos now);

    // Takes a completion and goes on with what waited for it; false: it belongs to none of the executions.
    // The first one that is not ok fails them all.
    bool on_completion(const Completion&, Port&, Nanos now);

    bool has_work() const noexcept { return !work_.empty(); }
    // What is to be done next; nothing: there is no work. Once it is done: on_piece, and no completion
    // before.
    std::optional<Piece> next_piece();
    void on_piece(Port&, Nanos now);

    // From where copies of short messages are sent.
    std::span<const std::byte> send_memory() const noexcept { return send_buffers_.memory(); }

    // Executions that are not over.
    std::size_t running() const noexcept { return running_.size(); }
    // The completion that failed.
    const std::optional<Completion>& failure() const noexcept { return failure_; }
    // Of received messages.
    const FlowTimes& flow_times() const noexcept { return flow_times_; }

  private:
    struct Id {
        std::uint64_t value = 0;
        friend bool operator==(Id, Id) = default;
        friend std::uint64_t hash_value(Id id) noexcept { return id.value; }  // they count up
    };
    struct Target {
        Execution* execution = nullptr;  // nothing: a copy was sent, which is no execution's any more
        std::uint32_t operation = 0;     // or place of the copy
    };
    struct Work {
        Execution* execution;
        std::uint32_t operation;
        std::uint64_t done = 0;  // elements
    };

    bool launch(Execution&, std::uint32_t index, Port&, Nanos now);
    void post(Execution&, std::uint32_t index, Port&, Nanos now);
    bool post_copy(Execution&, std::uint32_t index, Port&, Nanos now);
    void finish(Execution&, std::uint32_t index, Port&, Nanos now);
    void finish_one(Execution&, std::uint32_t index, Nanos now);
    void end(Execution&, Nanos now);
    void fail(const Completion&);
    static Piece piece(const Work&, std::uint64_t most);

    const std::uint16_t rank_;
    const std::uint16_t epoch_;
    FlatMap<Id, Target> transfers_;
    std::vector<Execution*> running_;
    std::deque<Work> work_;
    std::uint64_t taken_ = 0;           // elements of the piece that is being worked on
    std::vector<std::uint32_t> ready_;  // to be launched, the next one last
    std::optional<Completion> failure_;
    SendBuffers send_buffers_;
    FlowTimes flow_times_;
};

}  // namespace csaud::collectives
