// A baseline's transport by itself: what goes in and comes out.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind_baselines.hpp"
#include "csaud_sim/baselines/transports.hpp"
#include "csaud_sim/hosts/party.hpp"

namespace csaud::sim::baselines {
namespace {

class Endpoint final : public Upper {
  public:
    Endpoint(const std::string& transport, const std::map<std::string, double>& parameters, const Seat& seat)
        : rank_(seat.rank) {
        const TransportKind& kind = transport_named(transport);
        transport_ = kind.make(Parameters(kind.parameters, parameters), seat, *this);
    }

    void send(std::uint16_t dst, std::uint64_t bytes, std::uint32_t flow, Nanos now) {
        MessageName name;
        name.comm = kFlowComm;
        name.coll_seq = flow;
        name.src_rank = rank_;
        name.chunk = next_chunk_++;
        transport_->send({name.chunk, name, dst, bytes}, now);
    }
    std::optional<plain::Packet> next(Nanos now, bool data) {
        plain::Packet packet;
        if (!transport_->next(packet, data, now)) return std::nullopt;
        packet.src = rank_;
        packet.sent = now;
        return packet;
    }
    Transport& transport() { return *transport_; }
    std::vector<std::pair<std::string, std::uint64_t>> take_events() { return std::exchange(events_, {}); }

    void delivered(const MessageName&, std::uint64_t bytes, Nanos, Nanos) override {
        events_.emplace_back("delivered", bytes);
    }
    void acknowledged(const Message& message, Nanos) override {
        events_.emplace_back("acknowledged", message.bytes);
    }

  private:
    std::uint16_t rank_;
    std::uint16_t next_chunk_ = 0;
    std::unique_ptr<Transport> transport_;
    std::vector<std::pair<std::string, std::uint64_t>> events_;
};

}  // namespace

nanobind::dict stats_of(const Books& books) {
    nanobind::dict values;
    books.for_each([&](const char* name, std::uint64_t value) { values[name] = value; });
    return values;
}

void bind_endpoint(nanobind::module_& m) {
    using namespace nanobind::literals;
    using plain::Packet;
    nanobind::class_<Packet>(m, "PlainPacket")
        .def_ro("src", &Packet::src)
        .def_ro("dst", &Packet::dst)
        .def_ro("bytes", &Packet::bytes)
        .def_ro("payload", &Packet::payload)
        .def_ro("psn", &Packet::psn)
        .def_ro("ack", &Packet::ack)
        .def_ro("type", &Packet::type)
        .def_ro("again", &Packet::again)
        .def_ro("path", &Packet::path)
        .def_ro("entropy", &Packet::entropy)
        .def_rw("marked", &Packet::marked)
        .def_prop_ro("is_data", [](const Packet& p) { return p.kind == plain::Kind::data; })
        .def(
            "cut",
            [](const Packet& p, std::uint32_t bytes) {
                Packet cut = p;
                cut.cut_to(bytes);
                return cut;
            },
            "bytes"_a = 60);
    nanobind::class_<Endpoint>(m, "BaselineEndpoint")
        .def(
            "__init__",
            [](Endpoint* self, const std::string& transport, const std::map<std::string, double>& parameters,
               std::uint16_t rank, std::uint16_t hosts, std::uint64_t rate_bps, Nanos base_rtt_ns,
               std::uint32_t seed) {
                new (self) Endpoint(transport, parameters, {rank, hosts, rate_bps, base_rtt_ns, seed});
            },
            "transport"_a, "parameters"_a, nanobind::kw_only(), "rank"_a, "hosts"_a = 2,
            "rate_bps"_a = 100'000'000'000ULL, "base_rtt_ns"_a = 10'000, "seed"_a = 1)
        .def("send", &Endpoint::send, "dst"_a, "bytes"_a, "flow"_a = 0, nanobind::kw_only(), "now"_a)
        .def("next", &Endpoint::next, "now"_a, "data"_a = true)
        .def(
            "packet", [](Endpoint& self, const Packet& p, Nanos now) { self.transport().packet(p, now); },
            "packet"_a, "now"_a)
        .def(
            "timer", [](Endpoint& self, Nanos now) { self.transport().timer(now); }, "now"_a)
        .def_prop_ro("deadline",
                     [](Endpoint& self) -> std::optional<Nanos> {
                         const Nanos deadline = self.transport().deadline();
                         return deadline == kNever ? std::nullopt : std::optional(deadline);
                     })
        .def_prop_ro("quiet", [](Endpoint& self) { return self.transport().quiet(); })
        .def("take_events", &Endpoint::take_events)
        .def("stats", [](Endpoint& self) { return stats_of(self.transport().books()); });
}

}  // namespace csaud::sim::baselines
