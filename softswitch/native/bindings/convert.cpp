#include "convert.hpp"

#include <nanobind/stl/string.h>

#include <string>

namespace csaud::sw::python {

namespace {

nb::sequence as_sequence(nb::handle object, const char* what) {
    if (!PySequence_Check(object.ptr()) || nb::isinstance<nb::bytes>(object) ||
        nb::isinstance<nb::str>(object))
        throw nb::type_error((std::string(what) + ": expected a sequence").c_str());
    return nb::borrow<nb::sequence>(object);
}

std::string kind_of(const nb::sequence& sequence, const char* what) {
    if (nb::len(sequence) < 1 || !nb::isinstance<nb::str>(sequence[0]))
        throw nb::type_error((std::string(what) + ": expected a tuple that begins with its kind").c_str());
    return nb::cast<std::string>(sequence[0]);
}

MatchField to_field(nb::handle object) {
    MatchField field;
    if (object.is_none()) return field;
    const nb::sequence parts = as_sequence(object, "match field");
    const std::string kind = kind_of(parts, "match field");
    const auto expect = [&](std::size_t count) {
        if (nb::len(parts) != count)
            throw nb::type_error(
                ("match field '" + kind + "': expected " + std::to_string(count - 1) + " values").c_str());
    };
    using K = MatchField::Kind;
    if (kind == "exact" || kind == "optional") {
        expect(2);
        field.kind = kind == "exact" ? K::kExact : K::kOptional;
    } else if (kind == "lpm") {
        expect(3);
        field.kind = K::kLpm;
        field.prefix = nb::cast<int>(parts[2]);
    } else if (kind == "ternary" || kind == "range") {
        expect(3);
        field.kind = kind == "ternary" ? K::kTernary : K::kRange;
        field.other = to_bytes(parts[2], "match field");
    } else {
        throw nb::value_error(("match field of kind '" + kind + "'").c_str());
    }
    field.value = to_bytes(parts[1], "match field");
    return field;
}

nb::object from_field(const MatchField& field) {
    using K = MatchField::Kind;
    switch (field.kind) {
        case K::kAny:
            return nb::none();
        case K::kExact:
            return nb::make_tuple("exact", from_bytes(field.value));
        case K::kOptional:
            return nb::make_tuple("optional", from_bytes(field.value));
        case K::kLpm:
            return nb::make_tuple("lpm", from_bytes(field.value), field.prefix);
        case K::kTernary:
            return nb::make_tuple("ternary", from_bytes(field.value), from_bytes(field.other));
        case K::kRange:
            return nb::make_tuple("range", from_bytes(field.value), from_bytes(field.other));
    }
    return nb::none();
}

}  // namespace

Bytes to_bytes(nb::handle object, const char* what) {
    Py_buffer view;
    if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_SIMPLE) != 0) {
        PyErr_Clear();
        throw nb::type_error((std::string(what) + ": expected bytes").c_str());
    }
    const auto* data = static_cast<const std::uint8_t*>(view.buf);
    Bytes out(data, data + view.len);
    PyBuffer_Release(&view);
    return out;
}

nb::bytes from_bytes(std::span<const std::uint8_t> bytes) {
    return nb::bytes(bytes.data(), bytes.size());
}

std::vector<MatchField> to_match(nb::handle match) {
    std::vector<MatchField> fields;
    for (nb::handle field : as_sequence(match, "match")) fields.push_back(to_field(field));
    return fields;
}

nb::list from_match(const std::vector<MatchField>& match) {
    nb::list out;
    for (const MatchField& field : match) out.append(from_field(field));
    return out;
}

ActionSpec to_action(nb::handle object) {
    const nb::sequence parts = as_sequence(object, "action");
    const std::string kind = kind_of(parts, "action");
    ActionSpec action;
    if (kind == "action" && nb::len(parts) == 3) {
        action.name = nb::cast<std::string>(parts[1]);
        for (nb::handle value : as_sequence(parts[2], "action parameters"))
            action.parameters.push_back(to_bytes(value, "action parameter"));
    } else if ((kind == "member" || kind == "group") && nb::len(parts) == 2) {
        action.kind = kind == "member" ? Binding::Kind::kMember : Binding::Kind::kGroup;
        action.id = nb::cast<std::uint32_t>(parts[1]);
    } else {
        throw nb::value_error("an action is ('action', name, parameters), ('member', id) or ('group', id)");
    }
    return action;
}

nb::tuple from_action(const ActionSpec& action) {
    if (action.kind == Binding::Kind::kMember) return nb::make_tuple("member", action.id);
    if (action.kind == Binding::Kind::kGroup) return nb::make_tuple("group", action.id);
    nb::list parameters;
    for (const Bytes& value : action.parameters) parameters.append(from_bytes(value));
    return nb::make_tuple("action", action.name, parameters);
}

GroupSpec to_group(std::uint32_t id, nb::handle members, std::uint32_t max_size) {
    GroupSpec group{id, {}, max_size};
    for (nb::handle object : as_sequence(members, "group members")) {
        const nb::sequence parts = as_sequence(object, "group member");
        if (nb::len(parts) != 3)
            throw nb::type_error("a group member is (member id, weight, watch port or None)");
        GroupMember member;
        member.member = nb::cast<std::uint32_t>(parts[0]);
        member.weight = nb::cast<std::uint32_t>(parts[1]);
        if (!nb::object(parts[2]).is_none()) member.watch_port = nb::cast<std::uint32_t>(parts[2]);
        group.members.push_back(member);
    }
    return group;
}

nb::tuple from_group(const GroupSpec& group) {
    nb::list members;
    for (const GroupMember& member : group.members)
        members.append(
            nb::make_tuple(member.member, member.weight,
                           member.watch_port ? nb::object(nb::int_(*member.watch_port)) : nb::none()));
    return nb::make_tuple(group.id, members, group.max_size);
}

std::pair<std::uint64_t, std::uint64_t> read(const Count& count) {
    return {count.packets, count.bytes};
}

nb::tuple from_count(const std::pair<std::uint64_t, std::uint64_t>& count) {
    return nb::make_tuple(count.first, count.second);
}

}  // namespace csaud::sw::python
