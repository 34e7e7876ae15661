#include "bind_baselines.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind_network.hpp"
#include "bind_work.hpp"
#include "columns.hpp"
#include "csaud_sim/baselines/simulation.hpp"
#include "engine_of.hpp"
#include "executions.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace csaud::sim::baselines {
namespace {

using bindings::HeldExecution;

constexpr const char* kUnits[] = {"time", "rate", "bytes", "packets", "share", "number", "flag", "choice"};

// A simulation with the executions that it works on.
class Held {
  public:
    Held(const std::string& transport, const std::map<std::string, double>& parameters,
         std::uint32_t overhead_bytes, Nanos pipeline_ns, std::optional<std::size_t> trace,
         const std::optional<std::string>& engine, bool failover)
        : native_(transport, parameters, python::engine_of(engine), {overhead_bytes, pipeline_ns}, trace,
                  failover) {}

    Simulation& native() { return native_; }
    collectives::Execution& hold(std::shared_ptr<HeldExecution> execution) {
        return executions_.hold(std::move(execution));
    }
    plain::Network& network() { return native_.network(); }
    const Parameters& parameters() const { return native_.parameters(); }
    Nanos now() const { return native_.now(); }
    Host& host(std::size_t index) {
        if (index >= native_.hosts())
            throw nb::index_error(("there is no host " + std::to_string(index)).c_str());
        return native_.host(index);
    }

  private:
    python::Executions executions_;
    Simulation native_;
};

nb::list transport_list() {
    nb::list all;
    for (const TransportKind& kind : transports()) {
        nb::list parameters;
        for (const Parameter& each : kind.parameters) {
            nb::dict parameter;
            parameter["name"] = each.name;
            parameter["unit"] = kUnits[static_cast<std::size_t>(each.unit)];
            parameter["default"] = each.fallback;
            parameter["least"] = each.least;
            parameter["most"] = each.most();
            parameter["about"] = each.about;
            parameter["choices"] = nb::cast(each.choices);
            parameters.append(parameter);
        }
        nb::dict found;
        found["name"] = kind.name;
        found["about"] = kind.about;
        found["parameters"] = parameters;
        all.append(found);
    }
    return all;
}

}  // namespace

void bind(nb::module_& m) {
    m.def("transports", &transport_list);
    bind_endpoint(m);
    nb::class_<Held> simulation(m, "PlainSimulation");
    python::bind_network(simulation);
    python::bind_work(simulation);
    simulation
        .def(nb::init<const std::string&, const std::map<std::string, double>&, std::uint32_t, Nanos,
                      std::optional<std::size_t>, const std::optional<std::string>&, bool>(),
             "transport"_a, "parameters"_a, nb::kw_only(), "overhead_bytes"_a = LinkModel{}.overhead_bytes,
             "pipeline_ns"_a = LinkModel{}.pipeline, "trace"_a = nb::none(), "engine"_a = nb::none(),
             "failover"_a = false)
        .def(
            "add_host",
            [](Held& self, std::uint32_t at, std::uint64_t rate_bps, Nanos delay_ns, Nanos base_rtt_ns,
               std::uint32_t seed) {
                python::switch_of(self, at);
                Seat seat;
                seat.base_rtt = base_rtt_ns;
                seat.seed = seed;
                return self.native().add_host(seat, at, {rate_bps, delay_ns}).switch_port();
            },
            "switch"_a, nb::kw_only(), "rate_bps"_a, "delay_ns"_a, "base_rtt_ns"_a, "seed"_a)
        .def(
            "run", [](Held& self, Nanos until, bool each) { return self.native().run(until, each); },
            "until"_a, nb::kw_only(), "each"_a = false)
        .def(
            "advance", [](Held& self, Nanos until) { self.native().advance(until); }, "until"_a)
        .def(
            "stats",
            [](Held& self, std::size_t host) { return stats_of(self.host(host).transport().books()); },
            "host"_a)
        .def("messages", [](Held& self) { return python::messages_of(self.native().messages()); });
}

}  // namespace csaud::sim::baselines
