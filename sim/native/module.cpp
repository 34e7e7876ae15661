// Python module csaud_sim._core. Fabrics and endpoint configurations come from the modules that own them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/handles.hpp"
#include "held_execution.hpp"
#include "virtual_fabric.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using csaud::EndpointConfig;
using csaud::Nanos;
using csaud::sim::VirtualFabric;
using csaud::sw::python::FabricHandle;

namespace {

class Network {
  public:
    explicit Network(std::shared_ptr<FabricHandle> fabric)
        : owner_(std::move(fabric)), network_(owner_->fabric) {
        if (owner_->runner.running()) throw nb::value_error("the fabric runs in real time already");
    }

    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    void add_rank(const EndpointConfig& config, const std::string& at, int port, std::uint64_t nic_rate_bps) {
        network_.add_rank(config, owner_->fabric.switch_at(at), static_cast<csaud::sw::PortId>(port),
                          nic_rate_bps);
    }

    void start(std::uint16_t rank, std::shared_ptr<csaud::bindings::HeldExecution> execution) {
        std::erase_if(executions_, [](const auto& earlier) { return earlier->release(); });
        executions_.push_back(execution);
        network_.start(rank, execution->native());
    }

    bool run(Nanos until) {
        const nb::gil_scoped_release unlocked;
        return network_.run(until);
    }

    nb::dict stats(std::uint16_t rank) {
        nb::dict values;
        network_.endpoint(rank).stats().for_each(
            [&](const char* name, std::uint64_t value) { values[name] = value; });
        return values;
    }

    VirtualFabric& native() { return network_; }

  private:
    std::shared_ptr<FabricHandle> owner_;
    VirtualFabric network_;
    std::vector<std::shared_ptr<csaud::bindings::HeldExecution>> executions_;  // that may not have settled
};

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "Host endpoints attached to P4 switches under virtual time";
    nb::class_<Network>(m, "VirtualFabric")
        .def(nb::init<std::shared_ptr<FabricHandle>>(), "fabric"_a)
        .def("add_rank", &Network::add_rank, "config"_a, "switch"_a, "port"_a, "nic_rate_bps"_a = 0)
        .def(
            "set_peer",
            [](Network& self, std::uint16_t rank, std::uint16_t peer, std::uint32_t ipv4, std::uint32_t qpn) {
                self.native().endpoint(rank).set_peer(peer, ipv4, qpn);
            },
            "rank"_a, "peer"_a, "ipv4"_a, "qpn"_a)
        .def("start", &Network::start, "rank"_a, "execution"_a)
        .def("run", &Network::run, "until"_a)
        .def(
            "kill", [](Network& self, std::uint16_t rank) { self.native().kill(rank); }, "rank"_a)
        .def("stats", &Network::stats, "rank"_a)
        .def_prop_ro("quiet", [](Network& self) { return self.native().quiet(); })
        .def_prop_ro("now", [](Network& self) { return self.native().now(); });
}
