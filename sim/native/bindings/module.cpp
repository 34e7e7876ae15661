// The Python module csaud_sim._core; csaud_sim/_core.pyi is its reference. Fabrics and endpoint
// configurations come from the modules that own them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind_baselines.hpp"
#include "bind_work.hpp"
#include "bindings/handles.hpp"
#include "columns.hpp"
#include "csaud_sim/simulation/simulation.hpp"
#include "csaud_switch/base/error.hpp"
#include "engine_of.hpp"
#include "executions.hpp"
#include "ledger.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace csaud::sim {
namespace {

using bindings::HeldExecution;
using python::column;
using sw::python::FabricHandle;

// A simulation with the Python objects that it works on.
class Held {
  public:
    // engine: a library; nothing: the heap.
    Held(std::shared_ptr<FabricHandle> fabric, const std::optional<std::string>& engine,
         const Settings& settings)
        : owner_(std::move(fabric)) {
        if (owner_->runner.running()) throw nb::value_error("the fabric runs in real time already");
        std::unique_ptr<Engine> time = python::engine_of(engine);
        try {
            owner_->locked([&] { native_.emplace(owner_->fabric, std::move(time), settings); });
        } catch (const sw::FailedPrecondition& error) {
            throw nb::value_error(error.what());
        }
    }
    ~Held() {
        owner_->locked([&] { native_.reset(); });
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    template <class F>
    auto locked(F&& f) {
        return owner_->locked([&] { return f(*native_); });
    }
    Simulation& native() { return *native_; }
    sw::Switch& switch_at(const std::string& name) {
        try {
            return owner_->fabric.switch_at(name);
        } catch (const sw::UnknownName& error) {
            throw nb::key_error(error.what());
        }
    }
    Host& host(std::size_t index) {
        if (index >= native_->hosts())
            throw nb::index_error(("there is no host " + std::to_string(index)).c_str());
        return native_->host(index);
    }

    collectives::Execution& hold(std::shared_ptr<HeldExecution> execution) {
        return executions_.hold(std::move(execution));
    }

  private:
    std::shared_ptr<FabricHandle> owner_;
    python::Executions executions_;
    std::optional<Simulation> native_;
};

void add_host(Held& self, const EndpointConfig& config, const std::string& at, std::uint32_t port,
              std::uint64_t nic_rate_bps, Nanos delay_ns, double drift_ppm, Nanos clock_offset_ns) {
    if (!(std::abs(drift_ppm) < 1e6)) throw nb::value_error("drift_ppm lies between -1e6 and 1e6");
    const Clock clock(std::llround(drift_ppm * 1000), clock_offset_ns);
    self.native().add_host(config, clock, self.switch_at(at), port, {nic_rate_bps, delay_ns});
}

void impair(Held& self, const std::string& at, std::uint32_t port, double loss, double burst,
            std::uint8_t kinds, std::uint8_t classes, Nanos jitter_ns, std::uint64_t seed) {
    self.native().network().impair(self.switch_at(at), port, {loss, burst, kinds, classes, jitter_ns, seed});
}

std::size_t add_bursts(Held& self, const std::string& at, std::uint32_t port, std::uint32_t src_ipv4,
                       std::uint32_t dst_ipv4, std::uint16_t udp_port, std::uint16_t payload,
                       std::uint32_t burst, double interval_ns, double every_ns, std::uint64_t nic_rate_bps,
                       Nanos delay_ns) {
    const BurstPlan plan{src_ipv4, dst_ipv4, udp_port, payload, burst, interval_ns, every_ns};
    sw::Switch& there = self.switch_at(at);
    return self.locked([&](Simulation& s) {
        return s.add_bursts(plan, there, port, {nic_rate_bps, delay_ns});
    });
}

const Ledger& ledger_of(Held& self) {
    if (!self.native().ledger()) throw nb::value_error("the simulation was made without a ledger");
    return *self.native().ledger();
}

nb::dict stats_of(Held& self, std::size_t host) {
    nb::dict values;
    self.host(host).endpoint().stats().for_each(
        [&](const char* name, std::uint64_t value) { values[name] = value; });
    return values;
}

nb::dict memory_of(Held& self, std::size_t host) {
    nb::dict values;
    self.host(host).endpoint().memory().for_each(
        [&](const char* name, std::size_t bytes) { values[name] = bytes; });
    return values;
}

nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>> length_only(std::size_t bytes) {
    auto memory = std::make_unique<RepeatedMemory>(bytes);
    std::byte* const begin = memory->bytes().data();
    nb::capsule owner(memory.release(), [](void* p) noexcept { delete static_cast<RepeatedMemory*>(p); });
    return {begin, {bytes}, owner};
}

std::shared_ptr<collectives::Collective> without_reduction(const collectives::Collective& collective) {
    auto made = std::make_shared<collectives::Collective>(collective);
    if (made->combine != nullptr)
        made->combine = [](const std::byte*, const std::byte*, std::byte*, std::size_t) noexcept {};
    return made;
}

void bind(nb::module_& m) {
    nb::class_<Held> simulation(m, "Simulation");
    python::bind_work(simulation);
    simulation
        .def(
            "__init__",
            [](Held* self, std::shared_ptr<FabricHandle> fabric, std::uint32_t overhead_bytes,
               Nanos pipeline_ns, bool payloads, std::optional<std::size_t> trace,
               const std::optional<std::string>& engine, bool ledger, std::optional<Nanos> oracle_ns) {
                if (pipeline_ns < 0) throw nb::value_error("pipeline_ns cannot be negative");
                if (oracle_ns.value_or(0) < 0) throw nb::value_error("oracle_ns cannot be negative");
                new (self) Held(std::move(fabric), engine,
                                {{overhead_bytes, pipeline_ns}, payloads, trace, ledger, oracle_ns});
            },
            "fabric"_a, nb::kw_only(), "overhead_bytes"_a = LinkModel{}.overhead_bytes,
            "pipeline_ns"_a = LinkModel{}.pipeline, "payloads"_a = true, "trace"_a = nb::none(),
            "engine"_a = nb::none(), "ledger"_a = false, "oracle_ns"_a = nb::none())
        .def("impair", &impair, "switch"_a, "port"_a, nb::kw_only(), "loss"_a = 0.0, "burst"_a = 1.0,
             "kinds"_a = Impairment::kAll, "classes"_a = Impairment::kAll, "jitter_ns"_a = 0, "seed"_a = 1)
        .def("add_host", &add_host, "config"_a, "switch"_a, "port"_a, nb::kw_only(), "nic_rate_bps"_a = 0,
             "delay_ns"_a = 0, "drift_ppm"_a = 0.0, "clock_offset_ns"_a = 0)
        .def("connect", [](Held& self) { self.native().connect(); })
        .def(
            "run",
            [](Held& self, Nanos until, bool each) {
                return self.locked([&](Simulation& s) { return s.run(until, each); });
            },
            "until"_a, nb::kw_only(), "each"_a = false)
        .def(
            "advance", [](Held& self, Nanos until) { self.locked([&](Simulation& s) { s.advance(until); }); },
            "until"_a)
        .def(
            "kill", [](Held& self, std::size_t host) { self.host(host).kill(); }, "host"_a)
        .def("stats", &stats_of, "host"_a)
        .def("memory", &memory_of, "host"_a)
        .def("add_bursts", &add_bursts, "switch"_a, "port"_a, nb::kw_only(), "src_ipv4"_a, "dst_ipv4"_a,
             "udp_port"_a, "payload"_a, "burst"_a, "interval_ns"_a, "every_ns"_a, "nic_rate_bps"_a = 0,
             "delay_ns"_a = 0)
        .def("stop_bursts", [](Held& self) { self.native().stop_bursts(); })
        .def("bursts_sent",
             [](Held& self) {
                 return column<std::uint64_t>(self.native().bursts(),
                                              [](const auto& b) { return b->sent(); });
             })
        .def("figures",
             [](Held& self) { return python::figures_of(ledger_of(self), self.native().network()); })
        .def("recoveries",
             [](Held& self) {
                 return column<std::int64_t>(ledger_of(self).copies.recoveries(), std::identity{});
             })
        .def("messages", [](Held& self) { return python::messages_of(ledger_of(self).messages); })
        .def("links", [](Held& self) {
            ledger_of(self);
            return python::links_of(self.native().network());
        });
    m.def("length_only", &length_only, "bytes"_a);
    m.def("without_reduction", &without_reduction, "collective"_a);
}

}  // namespace
}  // namespace csaud::sim

NB_MODULE(_core, m) {
    m.doc() = "Hosts on P4 switches under virtual time";
    csaud::sim::bind(m);
    csaud::sim::plain::bind(m);
    csaud::sim::baselines::bind(m);
}
