// Collectives on the virtual network, and random runs of it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>

#include "soak.hpp"
#include "testnet.hpp"
#include "workload.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace csaud::bindings {

using testing::Chance;
using testing::LinkModel;
using testing::Pattern;
using testing::Workload;

void bind_workload(nb::module_& t) {
    nb::enum_<Pattern>(t, "Pattern", "Who sends to whom.")
        .value("ring", Pattern::ring)
        .value("all_to_all", Pattern::all_to_all)
        .value("incast", Pattern::incast)
        .value("urgent", Pattern::urgent);
    nb::class_<Workload>(t, "Workload", "Collectives on a virtual network; times in nanoseconds.")
        .def(nb::init<>())
        .def_rw("pattern", &Workload::pattern)
        .def_rw("ranks", &Workload::ranks)
        .def_rw("packets", &Workload::packets)
        .def_rw("urgent_packets", &Workload::urgent_packets)
        .def_rw("iterations", &Workload::iterations)
        .def_rw("warm_up", &Workload::warm_up)
        .def_rw("pause", &Workload::pause)
        .def_rw("limit", &Workload::limit);
    t.def(
        "run",
        [](const Workload& load, const EndpointConfig& config, const LinkModel& link, const Chance& chance) {
            const testing::WorkloadResult r = [&] {
                const nb::gil_scoped_release release;
                return testing::run(load, config, link, chance);
            }();
            nb::dict d;
            d["flows"] = r.flows;
            d["completions"] = r.completions;
            d["finished"] = r.finished;
            d["sends"] = r.sends;
            d["sends_open"] = r.sends_open;
            d["stats"] = stats_of(r.totals);
            d["fabric"] = counts_of(r.counts);
            return d;
        },
        "workload"_a, "config"_a, "link"_a, "chance"_a,
        "What flows and iterations took (ns), and the counters of ranks and fabric.");
    t.def(
        "soak",
        [](std::uint64_t seed) {
            const testing::SoakResult r = [&] {
                const nb::gil_scoped_release release;
                return testing::soak(seed);
            }();
            nb::dict d = stats_of(r.totals);
            d["packets"] = r.packets;
            d["virtual_ns"] = r.virtual_ns;
            return nb::make_tuple(r.failure, d);
        },
        "seed"_a, "(failure, totals) of a random run; failure is '' when all held.");
}

}  // namespace csaud::bindings
