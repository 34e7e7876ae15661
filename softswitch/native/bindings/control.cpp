// The methods of csaud_softswitch._core.Switch.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "convert.hpp"
#include "csaud_switch/base/error.hpp"
#include "csaud_switch/load/loaded_programs.hpp"
#include "handles.hpp"

namespace csaud::sw::python {

namespace {

using namespace nb::literals;

int packet_in_fd(const SwitchHandle& self) {
    return self.locked([&] {
        auto& fds = self.owner->packet_in_fds;
        const auto found = fds.find(self.target);
        if (found != fds.end()) return found->second;
        const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (fd < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
        fds.emplace(self.target, fd);
        return fd;
    });
}

nb::list poll_packet_in(const SwitchHandle& self) {
    const auto packets = self.locked([&] {
        const auto found = self.owner->packet_in_fds.find(self.target);
        std::uint64_t value = 0;
        if (found != self.owner->packet_in_fds.end() && ::read(found->second, &value, sizeof value) < 0)
            value = 0;
        return self.target->take_packet_ins();
    });
    nb::list out;
    for (const auto& packet : packets) out.append(from_bytes(packet));
    return out;
}

std::vector<Replica> to_replicas(const std::vector<std::pair<PortId, std::uint32_t>>& ports) {
    std::vector<Replica> replicas;
    for (const auto& [port, rid] : ports) replicas.push_back({port, rid});
    return replicas;
}

void bind_tables(nb::class_<SwitchHandle>& cls) {
    cls.def(
        "table_insert",
        [](const SwitchHandle& self, const std::string& table, nb::handle match, int priority,
           nb::handle action) {
            const EntrySpec entry{to_match(match), priority, to_action(action)};
            self.locked([&] { Control(*self.target, self.owner->present()).table_insert(table, entry); });
        },
        "table"_a, "match"_a, "priority"_a, "action"_a);
    cls.def(
        "table_modify",
        [](const SwitchHandle& self, const std::string& table, nb::handle match, int priority,
           nb::handle action) {
            const EntrySpec entry{to_match(match), priority, to_action(action)};
            self.locked([&] { Control(*self.target, self.owner->present()).table_modify(table, entry); });
        },
        "table"_a, "match"_a, "priority"_a, "action"_a);
    cls.def(
        "table_delete",
        [](const SwitchHandle& self, const std::string& table, nb::handle match, int priority) {
            const std::vector<MatchField> fields = to_match(match);
            self.locked([&] { Control(*self.target).table_delete(table, fields, priority); });
        },
        "table"_a, "match"_a, "priority"_a);
    cls.def(
        "table_set_default",
        [](const SwitchHandle& self, const std::string& table, nb::handle action) {
            std::optional<ActionSpec> spec;
            if (!action.is_none()) spec = to_action(action);
            self.locked([&] { Control(*self.target).table_set_default(table, spec); });
        },
        "table"_a, "action"_a.none());
    cls.def(
        "table_get_default",
        [](const SwitchHandle& self, const std::string& table) -> nb::object {
            const auto spec = self.locked([&] { return Control(*self.target).table_get_default(table); });
            return spec ? nb::object(from_action(*spec)) : nb::object(nb::none());
        },
        "table"_a);
    cls.def(
        "table_entries",
        [](const SwitchHandle& self, const std::string& table) {
            const auto entries = self.locked([&] { return Control(*self.target).table_entries(table); });
            nb::list out;
            for (const EntrySpec& e : entries)
                out.append(nb::make_tuple(from_match(e.match), e.priority, from_action(e.action)));
            return out;
        },
        "table"_a);
    cls.def(
        "table_clear",
        [](const SwitchHandle& self, const std::string& table) {
            self.locked([&] { Control(*self.target).table_clear(table); });
        },
        "table"_a);
    cls.def(
        "direct_counter",
        [](const SwitchHandle& self, const std::string& table, nb::handle match, int priority) {
            const std::vector<MatchField> fields = to_match(match);
            return from_count(self.locked(
                [&] { return read(Control(*self.target).direct_counter(table, fields, priority)); }));
        },
        "table"_a, "match"_a, "priority"_a);
    cls.def(
        "direct_counter_write",
        [](const SwitchHandle& self, const std::string& table, nb::handle match, int priority,
           std::uint64_t packets, std::uint64_t octets) {
            const std::vector<MatchField> fields = to_match(match);
            self.locked([&] {
                Control(*self.target).direct_counter(table, fields, priority) = {packets, octets};
            });
        },
        "table"_a, "match"_a, "priority"_a, "packets"_a, "octets"_a);
    cls.def(
        "direct_counter_default",
        [](const SwitchHandle& self, const std::string& table) {
            return from_count(
                self.locked([&] { return read(Control(*self.target).direct_counter_default(table)); }));
        },
        "table"_a);
    cls.def(
        "direct_counter_default_write",
        [](const SwitchHandle& self, const std::string& table, std::uint64_t packets, std::uint64_t octets) {
            self.locked([&] { Control(*self.target).direct_counter_default(table) = {packets, octets}; });
        },
        "table"_a, "packets"_a, "octets"_a);
}

void bind_profiles(nb::class_<SwitchHandle>& cls) {
    cls.def(
        "member_insert",
        [](const SwitchHandle& self, const std::string& profile, std::uint32_t id, nb::handle action) {
            const ActionSpec spec = to_action(action);
            self.locked([&] { Control(*self.target).member_insert(profile, id, spec); });
        },
        "profile"_a, "id"_a, "action"_a);
    cls.def(
        "member_modify",
        [](const SwitchHandle& self, const std::string& profile, std::uint32_t id, nb::handle action) {
            const ActionSpec spec = to_action(action);
            self.locked([&] { Control(*self.target).member_modify(profile, id, spec); });
        },
        "profile"_a, "id"_a, "action"_a);
    cls.def(
        "member_delete",
        [](const SwitchHandle& self, const std::string& profile, std::uint32_t id) {
            self.locked([&] { Control(*self.target).member_delete(profile, id); });
        },
        "profile"_a, "id"_a);
    cls.def(
        "members",
        [](const SwitchHandle& self, const std::string& profile) {
            const auto members = self.locked([&] { return Control(*self.target).members(profile); });
            nb::list out;
            for (const ActionSpec& member : members)
                out.append(nb::make_tuple(member.id, from_action(member)));
            return out;
        },
        "profile"_a);
    cls.def(
        "group_insert",
        [](const SwitchHandle& self, const std::string& profile, std::uint32_t id, nb::handle members,
           std::uint32_t max_size) {
            GroupSpec group = to_group(id, members, max_size);
            self.locked([&] { Control(*self.target).group_insert(profile, std::move(group)); });
        },
        "profile"_a, "id"_a, "members"_a, "max_size"_a = 0);
    cls.def(
        "group_modify",
        [](const SwitchHandle& self, const std::string& profile, std::uint32_t id, nb::handle members,
           std::uint32_t max_size) {
            GroupSpec group = to_group(id, members, max_size);
            self.locked([&] { Control(*self.target).group_modify(profile, std::move(group)); });
        },
        "profile"_a, "id"_a, "members"_a, "max_size"_a = 0);
    cls.def(
        "group_delete",
        [](const SwitchHandle& self, const std::string& profile, std::uint32_t id) {
            self.locked([&] { Control(*self.target).group_delete(profile, id); });
        },
        "profile"_a, "id"_a);
    cls.def(
        "groups",
        [](const SwitchHandle& self, const std::string& profile) {
            const auto groups = self.locked([&] { return Control(*self.target).groups(profile); });
            nb::list out;
            for (const GroupSpec& group : groups) out.append(from_group(group));
            return out;
        },
        "profile"_a);
}

void bind_replication(nb::class_<SwitchHandle>& cls) {
    using Ports = std::vector<std::pair<PortId, std::uint32_t>>;
    cls.def(
        "clone_session_set",
        [](const SwitchHandle& self, std::uint32_t session, const Ports& ports, std::uint32_t truncate) {
            self.locked([&] {
                self.target->replication.clone_sessions[session] = {to_replicas(ports), truncate};
            });
        },
        "session"_a, "ports"_a, "truncate"_a = 0);
    cls.def(
        "clone_session_delete",
        [](const SwitchHandle& self, std::uint32_t session) {
            self.locked([&] {
                if (self.target->replication.clone_sessions.erase(session) == 0)
                    throw NotFound("no clone session " + std::to_string(session));
            });
        },
        "session"_a);
    cls.def(
        "multicast_group_set",
        [](const SwitchHandle& self, std::uint32_t group, const Ports& ports) {
            self.locked([&] { self.target->replication.multicast_groups[group] = to_replicas(ports); });
        },
        "group"_a, "ports"_a);
    cls.def(
        "multicast_group_delete",
        [](const SwitchHandle& self, std::uint32_t group) {
            self.locked([&] {
                if (self.target->replication.multicast_groups.erase(group) == 0)
                    throw NotFound("no multicast group " + std::to_string(group));
            });
        },
        "group"_a);
}

// Of the process: all its switches may share them.
LoadedPrograms& loaded_programs() {
    static LoadedPrograms programs;
    return programs;
}

}  // namespace

void bind_control(nb::class_<SwitchHandle>& cls) {
    cls.def_prop_ro("name", [](const SwitchHandle& self) { return self.target->config().name; });
    cls.def_prop_ro("device_id", [](const SwitchHandle& self) { return self.target->config().device_id; });
    cls.def_prop_ro("loaded", [](const SwitchHandle& self) {
        return self.locked([&] { return self.target->loaded(); });
    });
    cls.def_prop_ro("machine_code", [](const SwitchHandle& self) {
        return self.locked([&] { return self.target->machine_code(); });
    });
    cls.def(
        "load",
        [](const SwitchHandle& self, const std::string& bmv2_json) {
            std::unique_ptr<Program> program;
            {
                nb::gil_scoped_release release;
                program = loaded_programs().load(bmv2_json);
            }
            self.locked([&] { self.target->install(std::move(program)); });
        },
        "bmv2_json"_a);
    bind_descriptions(cls);
    bind_tables(cls);
    bind_profiles(cls);
    bind_state(cls);
    bind_replication(cls);
    bind_adopt(cls);
    cls.def(
        "packet_out",
        [](const SwitchHandle& self, nb::handle payload) {
            const Bytes bytes = to_bytes(payload, "packet-out");
            self.locked([&] {
                self.owner->catch_up();
                self.owner->fabric.packet_out(*self.target, bytes);
                self.owner->fabric.flush_interfaces();
            });
            self.owner->runner.kick();
        },
        "payload"_a);
    cls.def("poll_packet_in", poll_packet_in);
    cls.def("packet_in_fd", packet_in_fd);
    cls.def("take_log",
            [](const SwitchHandle& self) { return self.locked([&] { return self.target->take_log(); }); });
}

}  // namespace csaud::sw::python
