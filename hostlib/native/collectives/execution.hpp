// One run of a plan: which operations wait for how many others, and what is posted.
//
// It changes only within calls of the executor that runs it, but for its state, which any thread may read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collectives/plan.hpp"
#include "collectives/reduction.hpp"
#include "collectives/step_times.hpp"
#include "csaud_host/base/time.hpp"
#include "csaud_host/contract/completion.hpp"
#include "csaud_host/wire/message_name.hpp"

namespace csaud::collectives {

// What the runs of one collective have in common.
// Is added to the number of a communicator for what one rank sends another, beside its collectives.
inline constexpr std::uint16_t kDirect = 0x8000;

struct Collective {
    std::shared_ptr<const Plan> plan;
    std::size_t element_bytes = 1;
    Combine combine = nullptr;         // nothing where the plan does not reduce
    std::vector<std::uint16_t> ranks;  // of the job, by rank of the group
    std::uint16_t comm = 0;
    std::uint16_t step_mark = 0;  // are added to the step and the chunk of each message's name
    std::uint16_t chunk_mark = 0;
    std::uint8_t cls = 4;
    bool barrier = false;
    std::shared_ptr<StepTimes> times;  // nothing: not known and not learned
};

struct Buffers {
    std::span<std::byte> data;
    std::span<std::byte> source;  // only read
    std::span<std::byte> scratch;
};

class Execution {
  public:
    enum class State : std::uint8_t { ready, running, ended, failed };

    // Throws std::invalid_argument or std::out_of_range where the plan does not fit the buffers or the ranks.
    // Is collective `number` of its communicator.
    Execution(std::shared_ptr<const Collective>, std::uint32_t number, const Buffers&);
    Execution(const Execution&) = delete;
    Execution& operator=(const Execution&) = delete;

    State state() const noexcept { return state_.load(std::memory_order_acquire); }
    bool over() const noexcept { return state() >= State::ended; }
    // Nothing reads or writes its buffers any more; what has failed may have transfers that are not over.
    bool settled() const noexcept { return settled_.load(std::memory_order_acquire); }
    // When it ended; once it has.
    Nanos ended_at() const noexcept { return ended_at_; }
    // Why it failed; once it has.
    const Completion& failure() const noexcept { return failure_; }

    // A transfer that is posted and has not ended well.
    struct Awaited {
        std::uint64_t id;
        std::uint32_t operation;
    };
    std::vector<Awaited> awaited() const;

  private:
    friend class Executor;

    struct Posted {
        std::uint64_t id = 0;
        bool open = false;
    };

    const Plan& plan() const noexcept { return *collective_->plan; }
    const Operation& operation(std::uint32_t index) const noexcept { return plan().operations()[index]; }
    std::span<std::byte> bytes(const Region&) const;
    MessageName name_of(const Operation&, std::uint16_t rank, std::uint16_t epoch) const;
    Hints hints_of(const Operation&) const;

    const std::shared_ptr<const Collective> collective_;
    const std::uint32_t number_;
    const Buffers buffers_;
    std::vector<std::uint32_t> waiting_;  // by operation: others that it waits for
    std::vector<Posted> posted_;          // by operation
    std::vector<Nanos> step_ended_;       // when the last receive of each step did
    std::size_t unfinished_;              // operations
    std::size_t open_ = 0;                // transfers
    Nanos began_ = 0;
    Nanos ended_at_ = 0;
    Completion failure_;
    std::atomic<State> state_ = State::ready;
    std::atomic<bool> settled_ = false;
};

}  // namespace csaud::collectives
