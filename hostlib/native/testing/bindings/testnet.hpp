// The parts of the Python module csaud_testnet; one file each. Types of the core come from csaud._core.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bindings/bindings.hpp"

namespace csaud::bindings {

void bind_network(nanobind::module_& m);   // endpoints on a network that loses, delays and cuts packets
void bind_executor(nanobind::module_& m);  // an executor without an endpoint
void bind_parts(nanobind::module_& m);     // small parts of the core
void bind_onlink(nanobind::module_& m);    // what finds out who is on a device's own link

inline std::vector<std::byte> vector_of(const nanobind::bytes& b) {
    const auto* p = static_cast<const std::byte*>(b.data());
    return {p, p + b.size()};
}

}  // namespace csaud::bindings
