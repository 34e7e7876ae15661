// The parts of the Python module csaud._core; one file each.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <span>

namespace csaud::bindings {

void bind_core(nanobind::module_& m);         // the protocol core: configuration, endpoint, wire format
void bind_device(nanobind::module_& m);       // devices
void bind_progress(nanobind::module_& m);     // an endpoint's progress on a device
void bind_collectives(nanobind::module_& m);  // plans, executions, reductions
void bind_arrays(nanobind::module_& m);       // other libraries' arrays
void bind_verbs(nanobind::module_& m);        // RDMA devices; nothing where it was built without their header

inline nanobind::bytes to_bytes(std::span<const std::byte> b) {
    return nanobind::bytes(b.data(), b.size());
}

}  // namespace csaud::bindings
