// The protocol core for Python: configuration, completions and the wire format. Endpoints themselves are
// driven by the progress thread or by the virtual network.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "bindings.hpp"
#include "csaud_host/contract/completion.hpp"
#include "csaud_host/contract/config.hpp"
#include "csaud_host/contract/pending_message.hpp"
#include "csaud_host/contract/stats.hpp"
#include "csaud_host/flow/window.hpp"
#include "csaud_host/wire/wire.hpp"
#include "siphash.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace csaud::bindings {
namespace {

std::span<const std::byte> bytes_of(const nb::bytes& b) {
    return {static_cast<const std::byte*>(b.data()), b.size()};
}

const char* name_of(wire::Fault fault) {
    switch (fault) {
        case wire::Fault::none:
            return "none";
        case wire::Fault::length:
            return "length";
        case wire::Fault::icrc:
            return "icrc";
        case wire::Fault::magic:
            return "magic";
        case wire::Fault::qkey:
            return "qkey";
        case wire::Fault::qpn:
            return "qpn";
    }
    return "unknown";
}

nb::dict dict_of(const wire::Decoded& d) {
    nb::dict r;
    r["src_ipv4"] = d.route.src_ipv4;
    r["dst_ipv4"] = d.route.dst_ipv4;
    r["src_port"] = d.route.src_port;
    r["dst_port"] = d.route.dst_port;
    r["src_qpn"] = d.route.src_qpn;
    r["dst_qpn"] = d.route.dst_qpn;
    r["qkey"] = d.route.qkey;
    r["psn"] = d.route.psn;
    r["ip_id"] = d.route.ip_id;
    r["tos"] = d.route.tos;
    r["ttl"] = d.route.ttl;
    const wire::CsaHeader& h = d.csa;
    r["type"] = static_cast<int>(h.type);
    r["flags"] = h.flags;
    r["spray"] = h.spray;
    r["cls"] = h.cls;
    r["ordered"] = h.ordered;
    r["attempt"] = h.attempt;
    r["epoch"] = h.name.epoch;
    r["comm"] = h.name.comm;
    r["step"] = h.name.step;
    r["coll_seq"] = h.name.coll_seq;
    r["src_rank"] = h.name.src_rank;
    r["chunk"] = h.name.chunk;
    r["pkt_idx"] = h.pkt_idx;
    r["pkt_total"] = h.pkt_total;
    r["path_id"] = h.path_id;
    r["path_seq"] = h.path_seq;
    r["tx_ts"] = h.tx_ts;
    r["payload"] = to_bytes(d.payload);
    if (!wire::has_control_part(h.type)) return r;
    const wire::ControlPart& c = d.control;
    r["reason"] = static_cast<int>(c.reason);
    r["control_flags"] = c.flags;
    r["ecn_count"] = c.ecn_count;
    r["newest_tx_ts"] = c.newest_tx_ts;
    r["echoed_path"] = c.echoed_path;
    const bool window = (c.flags & wire::kWindow) != 0;
    r["path_first"] = window ? c.window.size : c.gap.first;
    r["path_count"] = window ? c.window.arrived : c.gap.count;
    r["from_rank"] = c.from_rank;
    r["credit"] = c.credit;
    r["cumulative"] = c.cumulative;
    r["bitmap_bits"] = c.bitmap_bits;
    r["bitmap"] = to_bytes(d.bitmap);
    return r;
}

// Reads fields that `d` has; the others keep their defaults.
template <class T>
void read(const nb::dict& d, const char* key, T& field) {
    if (d.contains(key)) field = nb::cast<T>(d[key]);
}

nb::bytes encode(const nb::dict& d) {
    wire::Route r;
    read(d, "src_ipv4", r.src_ipv4);
    read(d, "dst_ipv4", r.dst_ipv4);
    read(d, "src_port", r.src_port);
    read(d, "dst_port", r.dst_port);
    read(d, "src_qpn", r.src_qpn);
    read(d, "dst_qpn", r.dst_qpn);
    read(d, "qkey", r.qkey);
    read(d, "psn", r.psn);
    read(d, "ip_id", r.ip_id);
    read(d, "tos", r.tos);
    read(d, "ttl", r.ttl);
    wire::CsaHeader h;
    int type = 0;
    read(d, "type", type);
    h.type = static_cast<wire::Type>(type);
    read(d, "flags", h.flags);
    read(d, "spray", h.spray);
    read(d, "cls", h.cls);
    read(d, "ordered", h.ordered);
    read(d, "attempt", h.attempt);
    read(d, "epoch", h.name.epoch);
    read(d, "comm", h.name.comm);
    read(d, "step", h.name.step);
    read(d, "coll_seq", h.name.coll_seq);
    read(d, "src_rank", h.name.src_rank);
    read(d, "chunk", h.name.chunk);
    read(d, "pkt_idx", h.pkt_idx);
    read(d, "pkt_total", h.pkt_total);
    read(d, "path_id", h.path_id);
    read(d, "path_seq", h.path_seq);
    read(d, "tx_ts", h.tx_ts);
    r.icrc = h.type != wire::Type::loss || r.dst_port != wire::Expect{}.loss_port;
    nb::bytes payload("", 0);
    read(d, "payload", payload);
    std::string body(payload.c_str(), payload.size());
    if (wire::has_control_part(h.type)) {
        wire::ControlPart c;
        int reason = 0;
        read(d, "reason", reason);
        c.reason = static_cast<wire::Reason>(reason);
        read(d, "control_flags", c.flags);
        read(d, "ecn_count", c.ecn_count);
        read(d, "newest_tx_ts", c.newest_tx_ts);
        read(d, "echoed_path", c.echoed_path);
        const bool window = (c.flags & wire::kWindow) != 0;
        read(d, "path_first", window ? c.window.size : c.gap.first);
        read(d, "path_count", window ? c.window.arrived : c.gap.count);
        read(d, "from_rank", c.from_rank);
        read(d, "credit", c.credit);
        read(d, "cumulative", c.cumulative);
        read(d, "bitmap_bits", c.bitmap_bits);
        nb::bytes bitmap("", 0);
        read(d, "bitmap", bitmap);
        std::array<std::byte, wire::kControlBytes> part;
        wire::encode_control(part, c);
        body.assign(reinterpret_cast<const char*>(part.data()), part.size());
        body.append(bitmap.c_str(), bitmap.size());
    }
    std::array<std::byte, wire::kHeaderBytes> head;
    const std::size_t pad = wire::encode_headers(head, r, h, body.size());
    std::string packet(reinterpret_cast<const char*>(head.data()), head.size());
    packet += body;
    packet.append(pad, '\0');
    if (r.icrc) {
        const auto crc = wire::icrc(head, std::as_bytes(std::span(body)), pad);
        packet.append(reinterpret_cast<const char*>(crc.data()), crc.size());
    }
    return nb::bytes(packet.data(), packet.size());
}

void bind_wire(nb::module_& m) {
    nb::module_ w = m.def_submodule("wire", "The packet format, from the IPv4 header on.");
    w.def(
        "decode",
        [](const nb::bytes& packet, std::uint32_t qpn, std::uint32_t qkey) {
            wire::Decoded d;
            const wire::Fault fault = wire::decode(bytes_of(packet), {.qpn = qpn, .qkey = qkey}, d);
            return nb::make_tuple(name_of(fault), fault == wire::Fault::none ? dict_of(d) : nb::dict());
        },
        "packet"_a, "qpn"_a, "qkey"_a, "(fault, fields): fault is 'none' or what is wrong with the packet.");
    w.def(
        "decode_any",
        [](const nb::bytes& packet) {
            wire::Decoded d;
            const wire::Fault fault = wire::decode_any(bytes_of(packet), d);
            return nb::make_tuple(name_of(fault), fault == wire::Fault::none ? dict_of(d) : nb::dict());
        },
        "packet"_a, "The same without the checks of queue pair, key and iCRC.");
    w.def(
        "encode", &encode, "fields"_a,
        "A whole packet; fields that are missing are zero. It has an iCRC but for a LOSS to the LOSS port.");
    w.def(
        "icrc",
        [](const nb::bytes& packet) {
            const auto b = bytes_of(packet);
            if (b.size() < wire::kHeaderBytes) throw nb::value_error("icrc: shorter than the headers");
            const auto crc = wire::icrc(b.first(wire::kHeaderBytes), b.subspan(wire::kHeaderBytes), 0);
            return to_bytes(crc);
        },
        "packet"_a, "The 4 bytes behind this packet, which comes without them.");
}

}  // namespace

void bind_core(nb::module_& m) {
    nb::enum_<PathPolicyName> policies(m, "PathPolicy", "Which path the next packet to a peer takes.");
    for (const PathPolicyKind& each : kPathPolicies) policies.value(each.word, each.name, each.about);
    using C = EndpointConfig;
    nb::class_<C>(m, "EndpointConfig", "Settings of an endpoint; times in nanoseconds, rates in bit/s.")
        .def(nb::init<>())
        .def_rw("rank", &C::rank)
        .def_rw("world", &C::world)
        .def_rw("epoch", &C::epoch)
        .def_rw("qkey", &C::qkey)
        .def_prop_rw(
            "auth_key",
            [](const C& c) { return nb::bytes(c.auth.key.data(), c.auth.on() ? c.auth.key.size() : 0); },
            [](C& c, const nb::bytes& key) {
                if (key.size() != c.auth.key.size()) throw nb::value_error("auth_key: 16 bytes");
                std::memcpy(c.auth.key.data(), key.data(), key.size());
                c.auth.make = device::siphash();
            },
            "Key of all ranks, 16 bytes, by which packets are authenticated; empty: they are not. "
            "RuntimeError "
            "where libsodium is missing.")
        .def_prop_rw(
            "local_ipv4", [](const C& c) { return c.local.ipv4; },
            [](C& c, std::uint32_t v) { c.local.ipv4 = v; })
        .def_prop_rw(
            "local_qpn", [](const C& c) { return c.local.qpn; },
            [](C& c, std::uint32_t v) { c.local.qpn = v; })
        .def_rw("path_mtu", &C::path_mtu)
        .def_rw("roce_port", &C::roce_port)
        .def_rw("loss_port", &C::loss_port)
        .def_rw("udp_source_port", &C::udp_source_port)
        .def_rw("zero_ip_id", &C::zero_ip_id)
        .def_rw("make_icrc", &C::make_icrc)
        .def_rw("verify_icrc", &C::verify_icrc)
        .def_rw("tos", &C::tos)
        .def_rw("ecn", &C::ecn)
        .def_rw("ttl", &C::ttl)
        .def_rw("tx_ts_unit_ns", &C::tx_ts_unit_ns)
        .def_prop_rw(
            "path_seq_bits", [](const C& c) { return c.bits.path_seq; },
            [](C& c, unsigned v) { c.bits.path_seq = v; })
        .def_prop_rw(
            "tx_ts_bits", [](const C& c) { return c.bits.tx_ts; }, [](C& c, unsigned v) { c.bits.tx_ts = v; })
        .def_prop_rw(
            "credit_bits", [](const C& c) { return c.bits.credit; },
            [](C& c, unsigned v) { c.bits.credit = v; })
        .def_prop_rw(
            "ecn_bits", [](const C& c) { return c.bits.ecn; }, [](C& c, unsigned v) { c.bits.ecn = v; })
        .def_rw("paths", &C::paths)
        .def_rw("spray", &C::spray)
        .def_rw("path_policy", &C::path_policy)
        .def_rw("ordered", &C::ordered)
        .def_rw("window", &C::window)
        .def_rw("shaping", &C::shaping)
        .def_rw("shared_window", &C::shared_window)
        .def_prop_ro("longest_window", [](const C& c) { return lone_window(c); })
        .def_rw("early_pool_packets", &C::early_pool_packets)
        .def_rw("pace_bps", &C::pace_bps)
        .def_rw("rate_bps", &C::rate_bps)
        .def_prop_rw(
            "detect_loss", [](const C& c) { return c.detectors.loss; },
            [](C& c, bool v) { c.detectors.loss = v; })
        .def_prop_rw(
            "detect_gap", [](const C& c) { return c.detectors.gap; },
            [](C& c, bool v) { c.detectors.gap = v; })
        .def_prop_rw(
            "detect_interval", [](const C& c) { return c.detectors.interval; },
            [](C& c, bool v) { c.detectors.interval = v; })
        .def_prop_rw(
            "detect_probe", [](const C& c) { return c.detectors.probe; },
            [](C& c, bool v) { c.detectors.probe = v; })
        .def_prop_rw(
            "interval_reorder", [](const C& c) { return c.interval_terms.reorder; },
            [](C& c, bool v) { c.interval_terms.reorder = v; })
        .def_prop_rw(
            "interval_hurry", [](const C& c) { return c.interval_terms.hurry; },
            [](C& c, bool v) { c.interval_terms.hurry = v; })
        .def_rw("fixed_interval", &C::fixed_interval)
        .def_rw("parity", &C::parity)
        .def_rw("parity_rows", &C::parity_rows)
        .def_rw("rtt_initial", &C::rtt_initial)
        .def_rw("rtt_refresh", &C::rtt_refresh)
        .def_rw("timer_tick", &C::timer_tick)
        .def_rw("queue_max", &C::queue_max)
        .def_rw("stall_tolerance", &C::stall_tolerance)
        .def_rw("dead_after", &C::dead_after)
        .def_rw("dead_probes", &C::dead_probes)
        .def_rw("abort_repeats", &C::abort_repeats)
        .def_rw("abort_spacing", &C::abort_spacing)
        .def_rw("linger", &C::linger)
        .def_rw("peer_rest", &C::peer_rest)
        .def_rw("finished_memory", &C::finished_memory)
        .def_rw("cached_peers", &C::cached_peers);

    nb::class_<Hints>(m, "Hints",
                      "What a collective's schedule knows of a message; times as CLOCK_MONOTONIC, ns.")
        .def(
            "__init__",
            [](Hints* self, std::uint8_t cls, bool barrier, Nanos expected_start, Nanos jitter,
               std::uint16_t fan_in) {
                new (self) Hints{.cls = cls,
                                 .barrier = barrier,
                                 .fan_in = fan_in,
                                 .expected_start = expected_start,
                                 .jitter = jitter};
            },
            "cls"_a = 4, "barrier"_a = false, "expected_start"_a = 0, "jitter"_a = 0, "fan_in"_a = 0)
        .def_ro("fan_in", &Hints::fan_in)
        .def_ro("cls", &Hints::cls)
        .def_ro("barrier", &Hints::barrier)
        .def_ro("scheduled", &Hints::scheduled)
        .def_ro("expected_start", &Hints::expected_start)
        .def_ro("jitter", &Hints::jitter);

    nb::enum_<Status>(m, "Status", "What became of a send or receive.")
        .value("ok", Status::ok)
        .value("peer_unreachable", Status::peer_unreachable)
        .value("aborted", Status::aborted)
        .value("protocol", Status::protocol);
    nb::enum_<CompletionKind>(m, "CompletionKind")
        .value("send", CompletionKind::send)
        .value("recv", CompletionKind::recv);
    nb::class_<Completion>(m, "Completion", "The end of a send or receive.")
        .def_ro("id", &Completion::id)
        .def_ro("kind", &Completion::kind)
        .def_ro("status", &Completion::status)
        .def_ro("rank", &Completion::rank)
        .def_ro("bytes", &Completion::bytes)
        .def_ro("started_ns", &Completion::started_ns)
        .def_ro("finished_ns", &Completion::finished_ns);
    nb::class_<PendingMessage>(m, "PendingMessage", "A message that is not over.")
        .def_ro("id", &PendingMessage::id)
        .def_prop_ro("is_send", [](const PendingMessage& p) { return p.kind == CompletionKind::send; })
        .def_ro("posted", &PendingMessage::posted)
        .def_ro("peer", &PendingMessage::peer)
        .def_prop_ro("comm", [](const PendingMessage& p) { return p.name.comm; })
        .def_prop_ro("coll_seq", [](const PendingMessage& p) { return p.name.coll_seq; })
        .def_prop_ro("step", [](const PendingMessage& p) { return p.name.step; })
        .def_prop_ro("chunk", [](const PendingMessage& p) { return p.name.chunk; })
        .def_ro("bytes", &PendingMessage::bytes)
        .def_ro("arrived", &PendingMessage::arrived)
        .def_ro("packets", &PendingMessage::packets);
    nb::dict help;
#define CSAUD_HELP(name, text) help[#name] = text;
    CSAUD_STATS(CSAUD_HELP)
#undef CSAUD_HELP
    m.attr("STATS_HELP") = help;
    bind_wire(m);
}

}  // namespace csaud::bindings
