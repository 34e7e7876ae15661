// Executions that a simulation works on, with their buffers.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "held_execution.hpp"

namespace csaud::sim::python {

class Executions {
  public:
    collectives::Execution& hold(std::shared_ptr<bindings::HeldExecution> execution) {
        // Now and then, so that many are not looked at many times.
        if (held_.size() >= look_at_) {
            std::erase_if(held_, [](const auto& earlier) { return earlier->release(); });
            look_at_ = 2 * held_.size() + 64;
        }
        held_.push_back(std::move(execution));
        return held_.back()->native();
    }

  private:
    std::vector<std::shared_ptr<bindings::HeldExecution>> held_;  // that may not have settled
    std::size_t look_at_ = 64;
};

}  // namespace csaud::sim::python
