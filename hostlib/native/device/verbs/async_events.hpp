// What an RDMA device reports of itself, beside completions: failures, ports that go and come, its removal.
#pragma once

#include <cstdint>
#include <string>

#include "library.hpp"

namespace csaud::device::verbs {

class AsyncEvents {
  public:
    explicit AsyncEvents(const Domain& domain);

    // Takes what was reported since the last call; never blocks. Looks at most every millisecond for reports,
    // and seldom whether the device is still there: not every driver says so when it is removed.
    // Throws std::runtime_error, which names the device, where there is nothing to go on with.
    void look(std::int64_t now);

    // The queue pair has failed, by a report since this was last asked.
    bool queue_pair_failed();
    // Becomes readable when something is reported.
    int descriptor() const { return context_->async_fd; }
    // Reports, ever, but for fatal ones.
    std::uint64_t count() const { return count_; }

  private:
    void take(const ibv_async_event& event);

    ibv_context* context_;
    std::string name_;
    std::string file_;         // of the device, there as long as it is; empty: there was none
    std::int64_t looked_ = 0;  // ns
    std::int64_t seen_ = 0;    // when the file was last looked for, ns
    std::uint64_t count_ = 0;
    bool queue_pair_failed_ = false;
};

}  // namespace csaud::device::verbs
