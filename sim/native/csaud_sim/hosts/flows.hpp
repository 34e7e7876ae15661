// Open-loop flows: so many bytes from one host to another at a time, whatever became of those before. A flow
// is a row of messages, as long as messages may be; its receiver expects it from its start on, or from a time
// after that.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "csaud_sim/hosts/open_work.hpp"
#include "csaud_sim/hosts/party.hpp"
#include "csaud_sim/hosts/repeated_memory.hpp"

namespace csaud::sim {

struct Flow {
    std::uint16_t src = 0, dst = 0;
    std::uint8_t cls = 4;
    Status status = Status::ok;  // the first that is not ok
    bool over = false;
    std::uint64_t bytes = 0;
    Nanos start = 0;
    Nanos receive_delay = 0;                   // from then until its receiver expects it
    Nanos finished = -1;                       // the last byte has arrived
    Nanos acked = -1;                          // and its sender knows
    std::uint32_t receiving = 0, sending = 0;  // messages that are not over
};

class Flows final : public Actor, public FlowSink {
  public:
    Flows(Engine& engine, OpenWork& open_work, const Parties& hosts)
        : engine_(engine), open_work_(open_work), hosts_(hosts) {}

    // std::invalid_argument, and nothing is added, where a flow cannot be.
    void add(std::span<const Flow> flows);
    const std::vector<Flow>& all() const { return flows_; }

    void act(std::uint32_t what, Nanos now) override;
    void completed(const Completion& completion, Nanos now) override;

  private:
    void start(std::uint32_t index, Nanos now);
    void post(std::uint32_t index, bool sends, Nanos now);
    void expect_next();

    Engine& engine_;
    OpenWork& open_work_;
    const Parties& hosts_;
    std::vector<Flow> flows_;
    std::vector<std::uint32_t> waiting_;  // the next to start is the last one
    Nanos armed_for_ = kNever;
    EventId event_ = kNoEvent;
    std::unique_ptr<RepeatedMemory> sent_, received_;
};

}  // namespace csaud::sim
