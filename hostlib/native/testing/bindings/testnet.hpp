// The parts of the Python module csaud_testnet; one file each. Types of the core come from csaud._core.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bindings/bindings.hpp"
#include "csaud_host/contract/stats.hpp"
#include "virtual_network.hpp"

namespace csaud::bindings {

void bind_network(nanobind::module_& m);   // endpoints on a network that loses, delays and cuts packets
void bind_workload(nanobind::module_& m);  // collectives on it
void bind_executor(nanobind::module_& m);  // an executor without an endpoint
void bind_parts(nanobind::module_& m);     // small parts of the core

nanobind::dict counts_of(const testing::FabricCounts&);

inline std::vector<std::byte> vector_of(const nanobind::bytes& b) {
    const auto* p = static_cast<const std::byte*>(b.data());
    return {p, p + b.size()};
}

inline nanobind::dict stats_of(const Stats& stats) {
    nanobind::dict d;
    stats.for_each([&](const char* name, std::uint64_t value) { d[name] = value; });
    return d;
}

}  // namespace csaud::bindings
