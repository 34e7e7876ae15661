// Python module csaud_sim._core. Fabrics and endpoint configurations come from the modules that own them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/handles.hpp"
#include "held_buffers.hpp"
#include "virtual_fabric.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using csaud::EndpointConfig;
using csaud::Nanos;
using csaud::sim::VirtualFabric;
using csaud::sw::python::FabricHandle;

namespace {

// (rank, id, status, rank that failed or the peer, started, finished)
using Done = std::tuple<int, std::uint64_t, std::string, int, Nanos, Nanos>;

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

    std::uint64_t post(bool is_send, std::uint16_t rank, std::uint16_t peer, std::uint16_t comm,
                       std::uint32_t coll_seq, std::uint16_t step, std::uint16_t chunk, nb::handle buffer,
                       std::size_t offset, std::size_t length, const csaud::Hints& hints) {
        csaud::Endpoint& endpoint = network_.endpoint(rank);
        csaud::bindings::HeldBuffer held(buffer, !is_send);
        const auto part = held.part(offset, length);
        const csaud::MessageName name{comm, endpoint.config().epoch, coll_seq,
                                      step, is_send ? rank : peer,   chunk};
        const std::uint64_t id = is_send ? endpoint.post_send(name, peer, part, hints, network_.now())
                                         : endpoint.post_recv(name, peer, part, hints, network_.now());
        buffers_.emplace(std::pair{rank, id}, std::move(held));
        return id;
    }

    std::vector<Done> run(Nanos until) {
        std::vector<csaud::sim::RankCompletion> completions;
        {
            const nb::gil_scoped_release unlocked;
            completions = network_.run(until);
        }
        std::vector<Done> done;
        for (const auto& [rank, c] : completions) {
            buffers_.erase({rank, c.id});
            done.emplace_back(rank, c.id, csaud::to_string(c.status), c.rank, c.started_ns, c.finished_ns);
        }
        return done;
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
    std::map<std::pair<std::uint16_t, std::uint64_t>, csaud::bindings::HeldBuffer> buffers_;
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
        .def("post", &Network::post, "is_send"_a, "rank"_a, "peer"_a, "comm"_a, "coll_seq"_a, "step"_a,
             "chunk"_a, "buffer"_a, "offset"_a, "length"_a, "hints"_a)
        .def("run", &Network::run, "until"_a)
        .def(
            "kill", [](Network& self, std::uint16_t rank) { self.native().kill(rank); }, "rank"_a)
        .def("stats", &Network::stats, "rank"_a)
        .def_prop_ro("quiet", [](Network& self) { return self.native().quiet(); })
        .def_prop_ro("now", [](Network& self) { return self.native().now(); });
}
