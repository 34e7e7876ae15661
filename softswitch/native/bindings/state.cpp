// Counters, registers, meters, idle timeouts, value sets and digests of csaud_softswitch._core.Switch.
#include "csaud_switch/control/state.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "convert.hpp"
#include "csaud_switch/base/error.hpp"
#include "handles.hpp"

namespace csaud::sw::python {

namespace {

using namespace nb::literals;
using Rates = std::optional<std::tuple<double, std::uint64_t, double, std::uint64_t>>;

nb::int_ from_wide(UWide value) {
    const nb::object high = nb::int_(static_cast<std::uint64_t>(value >> 64));
    const nb::object low = nb::int_(static_cast<std::uint64_t>(value));
    return nb::borrow<nb::int_>((high << nb::int_(64)) | low);
}

UWide to_wide(nb::handle value) {
    const nb::object number = nb::borrow(value);
    if (number < nb::int_(0) || (number >> nb::int_(128)) > nb::int_(0))
        throw InvalidArgument("a register holds numbers from 0 to 2^128 - 1");
    const auto high = nb::cast<std::uint64_t>(number >> nb::int_(64));
    const auto low = nb::cast<std::uint64_t>(number & nb::int_(UINT64_MAX));
    return UWide{high} << 64 | low;
}

std::optional<MeterRates> to_rates(const Rates& rates) {
    if (!rates) return std::nullopt;
    const auto& [cir, cburst, pir, pburst] = *rates;
    return MeterRates{cir, cburst, pir, pburst};
}

Rates from_rates(const std::optional<MeterRates>& rates) {
    if (!rates) return std::nullopt;
    return std::tuple{rates->cir, rates->cburst, rates->pir, rates->pburst};
}

std::vector<Bytes> to_member(nb::handle values) {
    std::vector<Bytes> member;
    for (nb::handle value : values) member.push_back(to_bytes(value, "member of a value set"));
    return member;
}

nb::list from_values(const std::vector<Bytes>& values) {
    nb::list out;
    for (const Bytes& value : values) out.append(from_bytes(value));
    return out;
}

void bind_arrays(nb::class_<SwitchHandle>& cls) {
    cls.def(
        "counter_read",
        [](const SwitchHandle& self, const std::string& counter, std::uint64_t index) {
            return from_count(
                self.locked([&] { return read(StateControl(*self.target).counter(counter, index)); }));
        },
        "counter"_a, "index"_a);
    cls.def(
        "counter_read_all",
        [](const SwitchHandle& self, const std::string& counter) {
            const auto cells = self.locked([&] { return self.target->program().counter(counter).cells; });
            nb::list out;
            for (const Count& cell : cells) out.append(from_count(read(cell)));
            return out;
        },
        "counter"_a);
    cls.def(
        "counter_write",
        [](const SwitchHandle& self, const std::string& counter, std::uint64_t index, std::uint64_t packets,
           std::uint64_t octets) {
            self.locked([&] { StateControl(*self.target).counter(counter, index) = {packets, octets}; });
        },
        "counter"_a, "index"_a, "packets"_a, "octets"_a);
    cls.def(
        "register_read",
        [](const SwitchHandle& self, const std::string& name, std::uint64_t index) {
            return from_wide(
                self.locked([&] { return StateControl(*self.target).register_read(name, index); }));
        },
        "name"_a, "index"_a);
    cls.def(
        "register_read_all",
        [](const SwitchHandle& self, const std::string& name) {
            const auto values = self.locked([&] {
                std::vector<UWide> all;
                const std::uint32_t size = self.target->program().register_array(name).size;
                for (std::uint32_t i = 0; i < size; ++i)
                    all.push_back(StateControl(*self.target).register_read(name, i));
                return all;
            });
            nb::list out;
            for (const UWide value : values) out.append(from_wide(value));
            return out;
        },
        "name"_a);
    cls.def(
        "register_write",
        [](const SwitchHandle& self, const std::string& name, std::uint64_t index, nb::handle value) {
            const UWide number = to_wide(value);
            self.locked([&] { StateControl(*self.target).register_write(name, index, number); });
        },
        "name"_a, "index"_a, "value"_a);
}

void bind_meters(nb::class_<SwitchHandle>& cls) {
    cls.def(
        "meter_get",
        [](const SwitchHandle& self, const std::string& meter, std::uint64_t index) {
            return from_rates(
                self.locked([&] { return StateControl(*self.target).meter(meter, index).rates(); }));
        },
        "meter"_a, "index"_a);
    cls.def(
        "meter_set",
        [](const SwitchHandle& self, const std::string& meter, std::uint64_t index, const Rates& rates) {
            self.locked([&] {
                StateControl::configure(StateControl(*self.target).meter(meter, index), to_rates(rates));
            });
        },
        "meter"_a, "index"_a, "rates"_a.none());
    cls.def(
        "direct_meter_get",
        [](const SwitchHandle& self, const std::string& table, nb::handle match, int priority) {
            const std::vector<MatchField> fields = to_match(match);
            return from_rates(self.locked(
                [&] { return StateControl(*self.target).direct_meter(table, fields, priority).rates(); }));
        },
        "table"_a, "match"_a, "priority"_a);
    cls.def(
        "direct_meter_set",
        [](const SwitchHandle& self, const std::string& table, nb::handle match, int priority,
           const Rates& rates) {
            const std::vector<MatchField> fields = to_match(match);
            self.locked([&] {
                StateControl::configure(StateControl(*self.target).direct_meter(table, fields, priority),
                                        to_rates(rates));
            });
        },
        "table"_a, "match"_a, "priority"_a, "rates"_a.none());
}

void bind_idle(nb::class_<SwitchHandle>& cls) {
    cls.def(
        "table_set_idle_timeout",
        [](const SwitchHandle& self, const std::string& table, nb::handle match, int priority,
           Nanos timeout_ns) {
            const std::vector<MatchField> fields = to_match(match);
            self.locked([&] {
                StateControl(*self.target, self.owner->present())
                    .table_set_idle_timeout(table, fields, priority, timeout_ns);
            });
        },
        "table"_a, "match"_a, "priority"_a, "timeout_ns"_a);
    cls.def(
        "table_idle_age",
        [](const SwitchHandle& self, const std::string& table, nb::handle match, int priority) {
            const std::vector<MatchField> fields = to_match(match);
            return self.locked([&] {
                return self.owner->present() -
                       StateControl(*self.target).idle_watch(table, fields, priority).last_hit;
            });
        },
        "table"_a, "match"_a, "priority"_a);
    cls.def("poll_idle", [](const SwitchHandle& self) {
        const auto idle =
            self.locked([&] { return StateControl(*self.target, self.owner->present()).take_idle(); });
        nb::list out;
        for (const IdleEntry& entry : idle)
            out.append(nb::make_tuple(entry.table, from_match(entry.match), entry.priority));
        return out;
    });
}

void bind_value_sets(nb::class_<SwitchHandle>& cls) {
    cls.def(
        "value_set_members",
        [](const SwitchHandle& self, const std::string& name) {
            const auto members =
                self.locked([&] { return StateControl(*self.target).value_set_members(name); });
            nb::list out;
            for (const std::vector<Bytes>& member : members) out.append(from_values(member));
            return out;
        },
        "name"_a);
    cls.def(
        "value_set_set",
        [](const SwitchHandle& self, const std::string& name, nb::handle members) {
            std::vector<std::vector<Bytes>> all;
            for (nb::handle member : members) all.push_back(to_member(member));
            self.locked([&] { StateControl(*self.target).value_set_replace(name, all); });
        },
        "name"_a, "members"_a);
    cls.def(
        "value_set_insert",
        [](const SwitchHandle& self, const std::string& name, nb::handle member) {
            const std::vector<Bytes> values = to_member(member);
            self.locked([&] { StateControl(*self.target).value_set_insert(name, values); });
        },
        "name"_a, "member"_a);
    cls.def(
        "value_set_delete",
        [](const SwitchHandle& self, const std::string& name, nb::handle member) {
            const std::vector<Bytes> values = to_member(member);
            self.locked([&] { StateControl(*self.target).value_set_delete(name, values); });
        },
        "name"_a, "member"_a);
}

void bind_digests(nb::class_<SwitchHandle>& cls) {
    cls.def(
        "digest_enable",
        [](const SwitchHandle& self, const std::string& name, bool enabled) {
            self.locked([&] { StateControl(*self.target).digest_enable(name, enabled); });
        },
        "name"_a, "enabled"_a);
    cls.def("poll_digests", [](const SwitchHandle& self) {
        const auto messages = self.locked([&] {
            return self.target->loaded() ? StateControl(*self.target).take_digests()
                                         : std::vector<DigestMessage>{};
        });
        nb::list out;
        for (const DigestMessage& message : messages)
            out.append(nb::make_tuple(message.name, from_values(message.values), message.time));
        return out;
    });
}

}  // namespace

void bind_state(nb::class_<SwitchHandle>& cls) {
    bind_arrays(cls);
    bind_meters(cls);
    bind_idle(cls);
    bind_value_sets(cls);
    bind_digests(cls);
}

}  // namespace csaud::sw::python
