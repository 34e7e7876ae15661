// What csaud_softswitch._core.Switch tells about its program and its figures.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <vector>

#include "convert.hpp"
#include "handles.hpp"

namespace csaud::sw::python {

namespace {

const char* match_name(MatchKind kind) {
    switch (kind) {
        case MatchKind::kExact:
            return "exact";
        case MatchKind::kLpm:
            return "lpm";
        case MatchKind::kTernary:
            return "ternary";
        case MatchKind::kRange:
            return "range";
        case MatchKind::kOptional:
            return "optional";
    }
    return "";
}

const char* kind_name(PortKind kind) {
    switch (kind) {
        case PortKind::kMemory:
            return "memory";
        case PortKind::kLink:
            return "link";
        case PortKind::kInterface:
            return "veth";
    }
    return "";
}

nb::object text_or_none(const std::string& text) {
    return text.empty() ? nb::object(nb::none()) : nb::object(nb::str(text.c_str()));
}

nb::list tables(const Program& program) {
    nb::list out;
    for (const auto& table : program.tables) {
        nb::list keys;
        for (const KeyField& key : table->keys) {
            nb::dict item;
            item["name"] = key.name;
            item["match_type"] = match_name(key.kind);
            item["width"] = key.source.width;
            keys.append(item);
        }
        nb::list actions;
        for (const std::uint32_t index : table->actions) {
            nb::list parameters;
            for (const ActionParameter& p : program.logic->actions[index].parameters)
                parameters.append(nb::make_tuple(p.name, p.width));
            nb::dict item;
            item["name"] = program.logic->actions[index].name;
            item["params"] = parameters;
            actions.append(item);
        }
        nb::dict item;
        item["name"] = table->name;
        item["keys"] = keys;
        item["actions"] = actions;
        item["size"] = table->size;
        item["direct_counter"] = text_or_none(table->direct_counter);
        item["profile"] = text_or_none(table->profile ? program.profiles[*table->profile]->name : "");
        item["const_entries"] = table->const_entries;
        item["const_default"] = table->const_default;
        item["direct_meter"] =
            text_or_none(table->direct_meter ? program.meters[*table->direct_meter].name : "");
        item["idle_timeout"] = table->idle_timeout;
        out.append(item);
    }
    return out;
}

nb::list profiles(const Program& program) {
    nb::list out;
    for (const auto& profile : program.profiles) {
        nb::list names;
        for (const std::string& table : profile->tables) names.append(table);
        nb::dict item;
        item["name"] = profile->name;
        item["size"] = profile->size;
        item["has_selector"] = profile->selector != nullptr;
        item["tables"] = names;
        out.append(item);
    }
    return out;
}

nb::list counters(const Program& program) {
    nb::list out;
    for (const CounterArray& counter : program.counters) {
        nb::dict item;
        item["name"] = counter.name;
        item["size"] = counter.cells.size();
        item["table"] = text_or_none(counter.table);
        out.append(item);
    }
    return out;
}

nb::list meters(const Program& program) {
    nb::list out;
    for (const MeterArray& meter : program.meters) {
        nb::dict item;
        item["name"] = meter.name;
        item["size"] = meter.cells.size();
        item["table"] = text_or_none(meter.table);
        item["unit"] = meter.bytes ? "bytes" : "packets";
        item["rates"] = 2;
        out.append(item);
    }
    return out;
}

nb::list value_sets(const Program& program) {
    nb::list out;
    for (const ValueSet& set : program.value_sets) {
        nb::list widths;
        for (const unsigned width : set.widths) widths.append(width);
        nb::dict item;
        item["name"] = set.name;
        item["size"] = set.size;
        item["widths"] = widths;
        out.append(item);
    }
    return out;
}

nb::list digests(const Program& program) {
    nb::list out;
    for (const Digest& digest : program.digests) {
        nb::list fields;
        for (const Digest::Element& element : digest.elements)
            fields.append(nb::make_tuple(element.name, element.field.width));
        nb::dict item;
        item["name"] = digest.name;
        item["fields"] = fields;
        out.append(item);
    }
    return out;
}

nb::list registers(const Program& program) {
    nb::list out;
    for (const RegisterArray& array : program.registers) {
        nb::dict item;
        item["name"] = array.name;
        item["size"] = array.size;
        item["width"] = array.width;
        out.append(item);
    }
    return out;
}

// Of the present program, which stays as long as its fabric is locked. Nobody waits for that lock with
// Python's held, so the two can be held in this order.
template <nb::list describe(const Program&)>
nb::list present(const SwitchHandle& self) {
    return self.locked([&] {
        const nb::gil_scoped_acquire acquire;
        return describe(self.target->program());
    });
}

struct PortSnapshot {
    PortId id;
    PortKind kind;
    bool up;
    std::uint32_t queued;
    PortFigures figures;
    std::uint64_t ring_drops;
};

nb::dict port_stats(const SwitchHandle& self) {
    const auto ports = self.locked([&] {
        std::vector<PortSnapshot> all;
        for (const Port* port : self.target->ports()) {
            std::uint64_t ring_drops = 0;
            if (port->interface >= 0) ring_drops = self.owner->fabric.interfaces().of(*port).ring_drops();
            all.push_back({port->id, port->kind, port->up, port->queued, port->figures, ring_drops});
        }
        return all;
    });
    nb::dict out;
    for (const PortSnapshot& port : ports) {
        nb::dict item;
        item["kind"] = kind_name(port.kind);
        item["up"] = port.up;
        item["rx_packets"] = port.figures.rx_packets;
        item["rx_bytes"] = port.figures.rx_bytes;
        item["tx_packets"] = port.figures.tx_packets;
        item["tx_bytes"] = port.figures.tx_bytes;
        item["queued"] = port.queued;
        item["queued_max"] = port.figures.queued_max;
        item["queue_full"] = port.figures.queue_full;
        item["link_down_drops"] = port.figures.link_down_drops;
        item["rx_ring_drops"] = port.ring_drops;
        item["rx_errors"] = port.figures.rx_errors;
        item["tx_errors"] = port.figures.tx_errors;
        out[nb::int_(port.id)] = item;
    }
    return out;
}

nb::dict stats(const SwitchHandle& self) {
    const auto [f, queued] =
        self.locked([&] { return std::pair(self.target->figures(), self.target->queued()); });
    nb::dict out;
    out["rx"] = f.rx;
    out["copies"] = f.copies;
    out["dropped_ingress"] = f.dropped_ingress;
    out["dropped_egress"] = f.dropped_egress;
    out["no_such_port"] = f.no_such_port;
    out["bad_priority"] = f.bad_priority;
    out["queue_full"] = f.queue_full;
    out["link_down"] = f.link_down;
    out["packet_in"] = f.packet_in;
    out["packet_in_overflow"] = f.packet_in_overflow;
    out["tx"] = f.tx;
    out["tx_errors"] = f.tx_errors;
    out["flushed"] = f.flushed;
    out["queued"] = queued;
    out["assertions"] = f.assertions;
    out["resubmitted"] = f.resubmitted;
    out["recirculated"] = f.recirculated;
    out["looped"] = f.looped;
    out["digests"] = f.digests;
    out["digest_overflow"] = f.digest_overflow;
    return out;
}

}  // namespace

void bind_descriptions(nb::class_<SwitchHandle>& cls) {
    cls.def("tables", present<tables>);
    cls.def("profiles", present<profiles>);
    cls.def("counters", present<counters>);
    cls.def("registers", present<registers>);
    cls.def("meters", present<meters>);
    cls.def("value_sets", present<value_sets>);
    cls.def("digests", present<digests>);
    cls.def("port_stats", port_stats);
    cls.def("stats", stats);
}

}  // namespace csaud::sw::python
