#include "held_execution.hpp"

#include <utility>

namespace csaud::bindings {

HeldExecution::HeldExecution(std::shared_ptr<const collectives::Collective> collective, std::uint32_t number,
                             nanobind::handle data, nanobind::handle source, nanobind::handle scratch) {
    buffers_.reserve(collectives::kPlaces);
    collectives::Buffers buffers;
    // What a schedule only sends may be read-only.
    buffers.data = hold(data, collective->plan->writes());
    buffers.source = hold(source, false);
    buffers.scratch = hold(scratch, true);
    native_.emplace(std::move(collective), number, buffers);
}

std::span<std::byte> HeldExecution::hold(nanobind::handle buffer, bool writable) {
    if (!buffer.is_valid() || buffer.is_none()) return {};
    const HeldBuffer& held = buffers_.emplace_back(buffer, writable);
    return held.part(0, held.whole().size());
}

}  // namespace csaud::bindings
