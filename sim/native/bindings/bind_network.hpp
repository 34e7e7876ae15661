// Methods of Python classes that have a plain network: how it is wired, and what its switches counted.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "csaud_sim/baselines/switches.hpp"
#include "csaud_sim/plain/network.hpp"
#include "ledger.hpp"

namespace csaud::sim::python {

namespace nb = nanobind;

template <class Owner>
plain::Switch& switch_of(Owner& self, std::uint32_t number) {
    if (number >= self.network().switches())
        throw nb::index_error(("there is no switch " + std::to_string(number)).c_str());
    return self.network().switch_at(number);
}

template <class Owner>
plain::Port& port_of(Owner& self, std::uint32_t number, std::uint16_t port) {
    plain::Switch& at = switch_of(self, number);
    if (port >= at.ports()) throw nb::index_error(("the switch has no port " + std::to_string(port)).c_str());
    return at.port(port);
}

inline nb::dict figures_of(const plain::SwitchFigures& figures) {
    nb::dict values;
    const auto by_kind = [](const std::array<std::uint64_t, plain::kKinds>& counts) {
        return nb::cast(std::vector<std::uint64_t>(counts.begin(), counts.end()));
    };
    values["hops"] = figures.hops;
    values["injected"] = by_kind(figures.injected);
    values["dropped"] = by_kind(figures.dropped);
    values["no_path"] = by_kind(figures.no_path);
    values["cut"] = figures.cut;
    values["marked"] = figures.marked;
    values["pauses"] = figures.pauses;
    values["most_queued"] = figures.most_queued;
    values["most_held"] = figures.most_held;
    return values;
}

// One row a port, by number of its switch; those that sent nothing are left out.
inline nb::dict links_of(plain::Network& network) {
    std::vector<std::pair<std::uint32_t, const plain::Port*>> links;
    for (std::uint32_t at = 0; at < network.switches(); ++at)
        for (std::uint16_t id = 0; id < network.switch_at(at).ports(); ++id)
            if (const plain::Port& port = network.switch_at(at).port(id); port.figures.frames != 0)
                links.emplace_back(at, &port);
    nb::dict columns;
    columns["switch"] = column<std::uint32_t>(links, [](const auto& link) { return link.first; });
    columns["port"] = column<std::uint32_t>(links, [](const auto& link) { return link.second->id; });
    add_figures(columns, links, [](const auto& link) -> const LinkFigures& { return link.second->figures; });
    return columns;
}

// Owner has network(), parameters() and now().
template <class Owner>
void bind_network(nb::class_<Owner>& bound) {
    using namespace nb::literals;
    bound
        .def(
            "add_switch", [](Owner& self, std::uint32_t seed) { return self.network().add_switch(seed); },
            "seed"_a)
        .def(
            "add_link",
            [](Owner& self, std::uint32_t a, std::uint32_t b, std::uint64_t rate_bps, Nanos delay_ns) {
                switch_of(self, a), switch_of(self, b);
                return self.network().add_link(a, b, {rate_bps, delay_ns});
            },
            "a"_a, "b"_a, nb::kw_only(), "rate_bps"_a, "delay_ns"_a)
        .def(
            "set_route",
            [](Owner& self, std::uint32_t at, std::uint32_t destination,
               const std::vector<std::uint16_t>& ports) {
                for (const std::uint16_t port : ports) port_of(self, at, port);
                switch_of(self, at).routes().set(destination, ports);
            },
            "switch"_a, "destination"_a, "ports"_a)
        .def(
            "set_room",
            [](Owner& self, std::uint32_t at, std::uint16_t port, std::uint64_t data, std::uint64_t control,
               const std::optional<std::pair<std::uint64_t, std::uint64_t>>& marks, std::uint64_t rate_bps,
               std::uint32_t mark_seed) {
                baselines::PortFacts facts{data, control, UINT64_MAX, UINT64_MAX, rate_bps, mark_seed};
                if (marks) std::tie(facts.low, facts.high) = *marks;
                port_of(self, at, port).room = room_of(self.parameters(), facts);
            },
            "switch"_a, "port"_a, nb::kw_only(), "data"_a, "control"_a, "marks"_a.none(), "rate_bps"_a,
            "mark_seed"_a)
        .def(
            "set_fault",
            [](Owner& self, std::uint32_t at, std::uint16_t port, std::uint8_t kind, std::uint32_t threshold,
               std::uint32_t seed, bool signalled) {
                if (kind >= plain::kKinds) throw nb::value_error("there is no such kind");
                port_of(self, at, port).faults[kind] = {threshold, seed, signalled};
            },
            "switch"_a, "port"_a, "kind"_a, nb::kw_only(), "threshold"_a, "seed"_a, "signalled"_a)
        .def(
            "set_rate",
            [](Owner& self, std::uint32_t at, std::uint16_t port, std::uint64_t rate_bps) {
                port_of(self, at, port).out->set_rate(rate_bps);
            },
            "switch"_a, "port"_a, "rate_bps"_a)
        .def(
            "set_up",
            [](Owner& self, std::uint32_t at, std::uint16_t port, bool up) {
                port_of(self, at, port);
                switch_of(self, at).set_up(port, up, self.now());
            },
            "switch"_a, "port"_a, "up"_a)
        .def("links", [](Owner& self) { return links_of(self.network()); })
        .def_prop_ro("data_lost", [](Owner& self) { return self.network().data_lost(); })
        .def(
            "switch_figures",
            [](Owner& self, std::uint32_t at) { return figures_of(switch_of(self, at).figures()); },
            "switch"_a);
}

}  // namespace csaud::sim::python
