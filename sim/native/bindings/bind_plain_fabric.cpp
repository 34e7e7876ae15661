// A plain network whose hosts only keep what arrives: packets go in at a time, and come out.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bind_baselines.hpp"
#include "bind_network.hpp"
#include "csaud_sim/engine/event_heap.hpp"

namespace csaud::sim::plain {
namespace {

// Host, tag, bytes, kind, marked, time of the last bit.
using Arrival = std::tuple<std::uint16_t, std::uint32_t, std::uint32_t, std::uint8_t, bool, Nanos>;

class PlainFabric {
  public:
    PlainFabric(const std::map<std::string, double>& parameters, std::uint32_t overhead_bytes,
                Nanos pipeline_ns)
        : parameters_(baselines::switch_parameters({}), parameters),
          network_(engine_, {overhead_bytes, pipeline_ns}, baselines::switch_model(parameters_)) {}

    Network& network() { return network_; }
    const baselines::Parameters& parameters() const { return parameters_; }
    Nanos now() const { return engine_.now(); }

    std::uint16_t add_host(std::uint32_t at, std::uint64_t rate_bps, Nanos delay_ns) {
        python::switch_of(*this, at);
        const auto number = static_cast<std::uint16_t>(sinks_.size());
        sinks_.push_back(std::make_unique<Sink>(*this, number));
        const auto port = network_.attach(*sinks_.back(), at, {rate_bps, delay_ns}).port;
        places_.emplace_back(at, port);
        return port;
    }
    void inject(std::uint16_t src, std::uint16_t dst, std::uint32_t tag, std::uint32_t bytes,
                std::uint8_t kind, bool listens, std::uint32_t entropy, Nanos now) {
        if (src >= sinks_.size() || dst >= sinks_.size())
            throw nanobind::index_error("there is no such host");
        if (kind == 0 || kind >= kKinds) throw nanobind::value_error("there is no such kind");
        engine_.run(now);
        Packet* packet = network_.packet();
        packet->src = src;
        packet->dst = dst;
        packet->psn = tag;
        packet->bytes = bytes;
        packet->kind = static_cast<Kind>(kind);
        packet->listens = listens;
        packet->entropy = entropy;
        const auto [at, port] = places_[src];
        network_.switch_at(at).arrive(packet, port, now);
    }
    void advance(Nanos until) { engine_.run(until); }
    std::vector<Arrival> take() { return std::exchange(arrivals_, {}); }

  private:
    struct Sink final : Node {
        Sink(PlainFabric& f, std::uint16_t n) : fabric(f), number(n) {}
        void arrive(Packet* packet, std::uint16_t, Nanos now) override {
            fabric.arrivals_.emplace_back(number, packet->psn, packet->bytes,
                                          static_cast<std::uint8_t>(packet->kind), packet->marked, now);
            fabric.network_.give(packet);
        }
        void paused(std::uint16_t, bool, Nanos) override {}
        PlainFabric& fabric;
        std::uint16_t number;
    };

    EventHeap engine_;
    baselines::Parameters parameters_;
    Network network_;
    std::vector<std::unique_ptr<Sink>> sinks_;
    std::vector<std::pair<std::uint32_t, std::uint16_t>> places_;
    std::vector<Arrival> arrivals_;
};

}  // namespace

void bind(nanobind::module_& m) {
    using namespace nanobind::literals;
    m.def(
        "pfc_headroom",
        [](std::uint64_t rate_bps, Nanos delay_ns, Nanos pipeline_ns) {
            return headroom({rate_bps, delay_ns}, pipeline_ns);
        },
        "rate_bps"_a, "delay_ns"_a, "pipeline_ns"_a);
    nanobind::class_<PlainFabric> fabric(m, "PlainFabric");
    fabric.def(nanobind::init<const std::map<std::string, double>&, std::uint32_t, Nanos>(), "parameters"_a,
               nanobind::kw_only(), "overhead_bytes"_a = 0, "pipeline_ns"_a = 0);
    python::bind_network(fabric);
    fabric
        .def("add_host", &PlainFabric::add_host, "switch"_a, nanobind::kw_only(), "rate_bps"_a,
             "delay_ns"_a = 0)
        .def("inject", &PlainFabric::inject, "src"_a, "dst"_a, nanobind::kw_only(), "tag"_a, "bytes"_a,
             "kind"_a = 1, "listens"_a = false, "entropy"_a = 0, "now"_a)
        .def("advance", &PlainFabric::advance, "now"_a)
        .def("take", &PlainFabric::take);
}

}  // namespace csaud::sim::plain
