// Methods of Python classes whose hosts, of any transport, are given work: when it is over, and what came of
// it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "columns.hpp"
#include "executions.hpp"

namespace csaud::sim::python {

// Held keeps a simulation and the executions that it works on.
template <class Held>
void bind_work(nb::class_<Held>& simulation) {
    using namespace nb::literals;
    using bindings::HeldExecution;
    simulation.def_prop_ro("hosts", [](Held& self) { return self.native().hosts(); })
        .def(
            "start",
            [](Held& self, std::size_t host, std::shared_ptr<HeldExecution> execution,
               std::optional<Nanos> at) {
                self.host(host);
                self.native().start(host, self.hold(std::move(execution)), at.value_or(self.native().now()));
            },
            "host"_a, "execution"_a, "at"_a = nb::none())
        .def(
            "follow",
            [](Held& self, std::size_t host, std::shared_ptr<HeldExecution> execution, Nanos delay_ns) {
                if (delay_ns < 0) throw nb::value_error("delay_ns cannot be negative");
                self.host(host).follow(self.hold(std::move(execution)), delay_ns);
            },
            "host"_a, "execution"_a, "delay_ns"_a)
        .def(
            "add_flows",
            [](Held& self, const Column<std::uint16_t>& src, const Column<std::uint16_t>& dst,
               const Column<std::uint64_t>& bytes, const Column<std::int64_t>& start_ns, std::uint8_t cls,
               Nanos receive_delay_ns) {
                self.native().add_flows(flows_from(src, dst, bytes, start_ns, cls, receive_delay_ns));
            },
            "src"_a, "dst"_a, "bytes"_a, "start_ns"_a, "cls"_a = 4, "receive_delay_ns"_a = 0)
        .def("flows", [](Held& self) { return columns_of(self.native().flows()); })
        .def(
            "message_times",
            [](Held& self, std::size_t host) {
                return column<std::int64_t>(self.host(host).executor().flow_times().all(), std::identity{});
            },
            "host"_a)
        .def_prop_ro("quiet", [](Held& self) { return self.native().quiet(); })
        .def_prop_ro("now", [](Held& self) { return self.native().now(); })
        .def_prop_ro("open", [](Held& self) { return self.native().open(); })
        .def_prop_ro("failures", [](Held& self) { return self.native().failures(); })
        .def_prop_ro("hops", [](Held& self) { return self.native().hops(); })
        .def("trace", [](Held& self) { return columns_of(needed(self.native().trace())); })
        .def_prop_ro("trace_digest", [](Held& self) { return needed(self.native().trace()).digest(); });
}

}  // namespace csaud::sim::python
