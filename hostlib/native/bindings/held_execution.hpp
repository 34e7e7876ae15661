// An execution and the Python buffers that it works on.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/execution.hpp"
#include "held_buffers.hpp"

namespace csaud::bindings {

// Made and destroyed with the GIL, and not destroyed before the execution has settled or nobody runs it.
class HeldExecution {
  public:
    // Empty handles: there is no such buffer.
    HeldExecution(std::shared_ptr<const collectives::Collective> collective, std::uint32_t number,
                  nanobind::handle data, nanobind::handle source, nanobind::handle scratch);

    collectives::Execution& native() { return *native_; }
    const collectives::Execution& native() const { return *native_; }
    std::vector<HeldBuffer>& buffers() { return buffers_; }

    // Python may have its buffers back, if nothing works on them any more; false: something may. With the
    // GIL.
    bool release() {
        if (!native_->settled()) return false;
        buffers_.clear();
        return true;
    }

  private:
    std::span<std::byte> hold(nanobind::handle buffer, bool writable);

    std::vector<HeldBuffer> buffers_;
    std::optional<collectives::Execution> native_;
};

}  // namespace csaud::bindings
