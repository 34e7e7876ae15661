// What keeps a simulation's time, as Python names it.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>

#include "csaud_sim/engine/event_heap.hpp"
#include "csaud_sim/engine/plugin.hpp"

namespace csaud::sim::python {

// `library` has one; nothing: the heap. A library may have one for a process, and a simulation that nobody
// can reach any more has it until its cycle is collected.
inline std::unique_ptr<Engine> engine_of(const std::optional<std::string>& library) {
    if (!library) return std::make_unique<EventHeap>();
    nanobind::module_::import_("gc").attr("collect")();
    return load_engine(*library);
}

}  // namespace csaud::sim::python
