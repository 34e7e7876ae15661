// The virtual network: links, what befalls packets on them, and the endpoints at their ends.
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "soak.hpp"
#include "testnet.hpp"
#include "virtual_network.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace csaud::bindings {
namespace {

using testing::Chance;
using testing::Fate;
using testing::LinkModel;
using testing::LossSignal;
using testing::PacketView;
using testing::Verdict;
using testing::VirtualNetwork;

nb::dict counts_of(const testing::FabricCounts& c) {
    nb::dict d;
    d["parity_dropped"] = c.parity_dropped;
    d["data_dropped"] = c.data_dropped;
    d["data_cut"] = c.data_cut;
    d["data_trimmed"] = c.data_trimmed;
    d["data_bounced"] = c.data_bounced;
    d["data_marked"] = c.data_marked;
    d["data_duplicated"] = c.data_duplicated;
    d["data_corrupted"] = c.data_corrupted;
    d["control_dropped"] = c.control_dropped;
    d["control_duplicated"] = c.control_duplicated;
    d["loss_dropped"] = c.loss_dropped;
    return d;
}

nb::dict stats_of(const Stats& stats) {
    nb::dict d;
    stats.for_each([&](const char* name, std::uint64_t value) { d[name] = value; });
    return d;
}

// What a hook may answer: None, "drop", "trim", "corrupt", "mark", ("delay", ns) or ("duplicate", ns).
Verdict verdict_of(const nb::object& answer) {
    Verdict v;
    if (answer.is_none()) return v;
    if (nb::isinstance<nb::tuple>(answer)) {
        const auto word = nb::cast<std::string>(answer[0]);
        const auto ns = nb::cast<Nanos>(answer[1]);
        if (word == "delay") {
            v.delay = ns;
        } else if (word == "duplicate") {
            v.duplicate = true;
            v.duplicate_delay = ns;
        } else {
            throw nb::value_error("a hook's tuple begins with 'delay' or 'duplicate'");
        }
        return v;
    }
    const auto word = nb::cast<std::string>(answer);
    if (word == "drop") {
        v.fate = Fate::drop;
    } else if (word == "trim") {
        v.fate = Fate::trim;
    } else if (word == "corrupt") {
        v.fate = Fate::corrupt;
    } else if (word == "mark") {
        v.fate = Fate::mark;
    } else {
        throw nb::value_error("a hook answers None, 'drop', 'trim', 'corrupt', 'mark', or a tuple");
    }
    return v;
}

const char* name_of(const LossSignal& s) {
    return s.trim && s.bounce ? "both" : s.trim ? "trim" : "bounce";
}

LossSignal signal_of(const std::string& name, LossSignal s) {
    if (name != "trim" && name != "bounce" && name != "both")
        throw nb::value_error("a loss signal is 'trim', 'bounce' or 'both'");
    s.trim = name != "bounce";
    s.bounce = name != "trim";
    return s;
}

Hints hints_from(std::uint8_t cls, Nanos expected_start, Nanos jitter, std::uint16_t fan_in,
                 bool scheduled = false, bool chained = false) {
    return {.cls = cls,
            .scheduled = scheduled,
            .chained = chained,
            .fan_in = fan_in,
            .expected_start = expected_start,
            .jitter = jitter};
}

MessageName name_from(std::uint32_t coll_seq, std::uint16_t step, std::uint16_t chunk, std::uint16_t comm) {
    MessageName n;
    n.coll_seq = coll_seq;
    n.step = step;
    n.chunk = chunk;
    n.comm = comm;
    return n;
}

void bind_models(nb::module_& t) {
    nb::class_<LinkModel>(t, "LinkModel", "Links of the virtual network; times in nanoseconds.")
        .def(nb::init<>())
        .def_rw("latency", &LinkModel::latency)
        .def_rw("path_skew", &LinkModel::path_skew)
        .def_rw("jitter", &LinkModel::jitter)
        .def_rw("fifo_paths", &LinkModel::fifo_paths)
        .def_rw("rate_bps", &LinkModel::rate_bps)
        .def_prop_rw(
            "signal", [](const LinkModel& l) { return name_of(l.signal); },
            [](LinkModel& l, const std::string& name) { l.signal = signal_of(name, l.signal); })
        .def_prop_rw(
            "signal_icrc", [](const LinkModel& l) { return l.signal.icrc; },
            [](LinkModel& l, bool v) { l.signal.icrc = v; })
        .def_prop_rw(
            "signal_kept", [](const LinkModel& l) { return l.signal.kept; },
            [](LinkModel& l, std::size_t v) { l.signal.kept = v; });
    nb::class_<Chance>(t, "Chance", "Probabilities of what happens to a packet.")
        .def(nb::init<>())
        .def_rw("drop_data", &Chance::drop_data)
        .def_rw("drop_control", &Chance::drop_control)
        .def_rw("trim", &Chance::trim)
        .def_rw("mark", &Chance::mark)
        .def_rw("duplicate", &Chance::duplicate)
        .def_rw("late", &Chance::late)
        .def_rw("late_by", &Chance::late_by)
        .def_rw("seed", &Chance::seed);
    const auto csa = [](auto field) { return [field](const PacketView& v) { return v.csa.*field; }; };
    const auto control = [](auto field) { return [field](const PacketView& v) { return v.control.*field; }; };
    nb::class_<PacketView>(t, "PacketView", "A packet as a hook sees it.")
        .def_ro("src", &PacketView::src)
        .def_ro("dst", &PacketView::dst)
        .def_ro("number", &PacketView::number)
        .def_ro("now", &PacketView::now)
        .def_prop_ro("type", [](const PacketView& v) { return static_cast<int>(v.csa.type); })
        .def_prop_ro("flags", csa(&wire::CsaHeader::flags))
        .def_prop_ro("cls", csa(&wire::CsaHeader::cls))
        .def_prop_ro("attempt", csa(&wire::CsaHeader::attempt))
        .def_prop_ro("pkt_idx", csa(&wire::CsaHeader::pkt_idx))
        .def_prop_ro("pkt_total", csa(&wire::CsaHeader::pkt_total))
        .def_prop_ro("path_id", csa(&wire::CsaHeader::path_id))
        .def_prop_ro("path_seq", csa(&wire::CsaHeader::path_seq))
        .def_prop_ro("tx_ts", csa(&wire::CsaHeader::tx_ts))
        .def_prop_ro("coll_seq", [](const PacketView& v) { return v.csa.name.coll_seq; })
        .def_prop_ro("src_rank", [](const PacketView& v) { return v.csa.name.src_rank; })
        .def_prop_ro("reason", [](const PacketView& v) { return static_cast<int>(v.control.reason); })
        .def_prop_ro("control_flags", control(&wire::ControlPart::flags))
        .def_prop_ro("credit", control(&wire::ControlPart::credit))
        .def_prop_ro("cumulative", control(&wire::ControlPart::cumulative))
        .def_prop_ro("newest_tx_ts", control(&wire::ControlPart::newest_tx_ts));
}

void bind_endpoints(nb::module_& t) {
    nb::class_<VirtualNetwork>(t, "VirtualNetwork", "Endpoints of one job under virtual time.")
        .def(nb::init<std::uint16_t, const EndpointConfig&, const LinkModel&, const Chance&>(), "world"_a,
             "config"_a, "link"_a, "chance"_a)
        .def(
            "set_hook",
            [](VirtualNetwork& n, const nb::object& hook) {
                if (hook.is_none()) return n.set_hook({});
                n.set_hook([hook](const PacketView& v) { return verdict_of(hook(v)); });
            },
            "hook"_a.none(), "Calls hook(PacketView) for each packet that is sent; None removes it.")
        .def("set_chance", &VirtualNetwork::set_chance, "chance"_a)
        .def(
            "post_send",
            [](VirtualNetwork& n, std::uint16_t rank, std::uint16_t dst, const nb::bytes& data,
               std::uint32_t coll_seq, std::uint16_t step, std::uint16_t chunk, std::uint16_t comm,
               std::uint8_t cls, Nanos expected_start, Nanos jitter, std::uint16_t fan_in, bool chained) {
                const Hints hints = hints_from(cls, expected_start, jitter, fan_in, false, chained);
                return n.post_send(rank, dst, name_from(coll_seq, step, chunk, comm), vector_of(data), hints);
            },
            "rank"_a, "dst"_a, "data"_a, "coll_seq"_a = 0, "step"_a = 0, "chunk"_a = 0, "comm"_a = 0,
            "cls"_a = 4, "expected_start"_a = 0, "jitter"_a = 0, "fan_in"_a = 0, "chained"_a = false)
        .def(
            "post_recv",
            [](VirtualNetwork& n, std::uint16_t rank, std::uint16_t src, std::size_t bytes,
               std::uint32_t coll_seq, std::uint16_t step, std::uint16_t chunk, std::uint16_t comm,
               std::uint8_t cls, Nanos expected_start, Nanos jitter, std::uint16_t fan_in, bool scheduled) {
                const Hints hints = hints_from(cls, expected_start, jitter, fan_in, scheduled);
                return n.post_recv(rank, src, name_from(coll_seq, step, chunk, comm), bytes, hints);
            },
            "rank"_a, "src"_a, "bytes"_a, "coll_seq"_a = 0, "step"_a = 0, "chunk"_a = 0, "comm"_a = 0,
            "cls"_a = 4, "expected_start"_a = 0, "jitter"_a = 0, "fan_in"_a = 0, "scheduled"_a = false)
        .def("run_until", &VirtualNetwork::run_until, "until"_a)
        .def("settle", &VirtualNetwork::settle, "limit"_a,
             "True once all is complete and quiet; False at the limit.")
        .def_prop_ro("now", &VirtualNetwork::now)
        .def("stop", &VirtualNetwork::stop, "rank"_a)
        .def("resume", &VirtualNetwork::resume, "rank"_a)
        .def("hold_up", &VirtualNetwork::hold_up, "rank"_a, "time"_a,
             "The rank is held up between taking its next packets and sending them.")
        .def("kill", &VirtualNetwork::kill, "rank"_a)
        .def("begin_again", &VirtualNetwork::begin_again, "epoch"_a,
             "All ranks start anew with another epoch, while what was sent before still arrives.")
        .def(
            "abort", [](VirtualNetwork& n, std::uint16_t rank) { n.endpoint(rank).abort(n.now()); }, "rank"_a)
        .def(
            "inject",
            [](VirtualNetwork& n, std::uint16_t rank, const nb::bytes& p) { n.inject(rank, vector_of(p)); },
            "rank"_a, "packet"_a)
        .def(
            "last_packet",
            [](const VirtualNetwork& n, std::uint16_t rank, int type) {
                return to_bytes(n.last_packet(rank, static_cast<wire::Type>(type)));
            },
            "rank"_a, "type"_a)
        .def("completions", &VirtualNetwork::completions, "rank"_a)
        .def(
            "received",
            [](const VirtualNetwork& n, std::uint16_t rank, std::uint64_t id) {
                return to_bytes(n.received(rank, id));
            },
            "rank"_a, "id"_a)
        .def(
            "stats", [](VirtualNetwork& n, std::uint16_t rank) { return stats_of(n.endpoint(rank).stats()); },
            "rank"_a)
        .def(
            "path_stats",
            [](VirtualNetwork& n, std::uint16_t rank) {
                nb::dict d;
                n.endpoint(rank).stats().for_each_path(
                    [&](const char* name, const auto& values) { d[name] = nb::cast(values); });
                return d;
            },
            "rank"_a)
        .def(
            "deny_path",
            [](VirtualNetwork& n, std::uint16_t rank, std::uint16_t path, bool denied) {
                n.endpoint(rank).deny_path(path, denied);
            },
            "rank"_a, "path"_a, "denied"_a)
        .def(
            "path_state",
            [](VirtualNetwork& n, std::uint16_t rank, std::uint16_t peer, std::uint16_t path) {
                constexpr const char* kNames[] = {"good", "skip", "assumed_bad", "denied"};
                return kNames[static_cast<std::size_t>(n.endpoint(rank).path_state(peer, path))];
            },
            "rank"_a, "peer"_a, "path"_a)
        .def(
            "memory",
            [](VirtualNetwork& n, std::uint16_t rank) {
                nb::dict d;
                n.endpoint(rank).memory().for_each([&](const char* name, std::size_t v) { d[name] = v; });
                return d;
            },
            "rank"_a, "Bytes that an endpoint holds, by what they are for.")
        .def(
            "quiescent",
            [](VirtualNetwork& n, std::uint16_t rank) { return n.endpoint(rank).quiescent(n.now()); },
            "rank"_a)
        .def_prop_ro("payload", [](VirtualNetwork& n) { return n.endpoint(0).payload_per_packet(); })
        .def_prop_ro("max_message_bytes", [](VirtualNetwork& n) { return n.endpoint(0).max_message_bytes(); })
        .def_prop_ro("unfinished", &VirtualNetwork::unfinished)
        .def_prop_ro("packets", &VirtualNetwork::packets)
        .def("counts", [](const VirtualNetwork& n) { return counts_of(n.counts()); })
        .def("unbalanced", &VirtualNetwork::unbalanced,
             "What does not balance between ranks and fabric; '' if all does.");
}

}  // namespace

void bind_network(nb::module_& t) {
    bind_models(t);
    bind_endpoints(t);
    t.def(
        "cut",
        [](const nb::bytes& p, const std::string& signal, bool icrc, std::size_t kept, std::uint16_t port) {
            const LossSignal s = signal_of(signal, {.icrc = icrc, .kept = kept});
            if (s.trim && s.bounce) throw nb::value_error("one packet: 'trim' or 'bounce'");
            return to_bytes((s.trim ? testing::trimmed : testing::bounced)(vector_of(p), port, s));
        },
        "packet"_a, "signal"_a = "trim", "icrc"_a = false, "kept"_a = 80, "loss_port"_a = 49791,
        "The LOSS that a switch makes of a DATA packet.");
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
