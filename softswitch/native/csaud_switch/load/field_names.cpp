#include "csaud_switch/load/field_names.hpp"

namespace csaud::sw {

FieldNames::FieldNames(const Json& root, Layout& layout) : root_(root), layout_(layout) {
    for (std::uint32_t i = 0; i < layout.stacks.size(); ++i) stacks_.emplace(layout.stacks[i].name, i);
    for (std::uint32_t i = 0; i < layout.unions.size(); ++i) unions_.emplace(layout.unions[i].name, i);
}

std::uint32_t FieldNames::header(const Json& name, const std::string& where) const {
    if (!name.is_string()) fail(where, "expected the name of a header");
    const auto found = layout_.by_name.find(name.get<std::string>());
    if (found == layout_.by_name.end()) fail(where, "no header '" + name.get<std::string>() + "'");
    return found->second;
}

FieldRef FieldNames::field(const Json& path, bool write, const std::string& where) {
    if (!path.is_array() || path.size() != 2 || !path[1].is_string())
        fail(where, "a field is [header, field]");
    const std::uint32_t index = header(path[0], where);
    Header& owner = layout_.headers[index];
    const std::string name = path[1].get<std::string>();
    if (name == "$valid$") {
        if (write) fail(where, "'" + owner.name + ".$valid$' cannot be written");
        return {index, owner.valid_slot, 1, false};
    }
    const auto found = owner.find(name);
    if (!found) fail(where, "no field '" + name + "' in header '" + owner.name + "'");
    Field& field = owner.fields[*found];
    if (field.opaque)
        unsupported(where, "use of field '" + owner.name + "." + name + "' of " +
                               std::to_string(field.width) + " bits (at most " +
                               std::to_string(kMaxFieldBits) + ")");
    if (field.varbit)
        unsupported(where, "this use of '" + owner.name + "." + name + "', a field of variable length,");
    field.used = true;
    field.written |= write;
    return {index, field.slot, field.width, field.is_signed};
}

bool FieldNames::is_varbit(const Json& path) const {
    if (!path.is_array() || path.size() != 2 || !path[0].is_string() || !path[1].is_string()) return false;
    const auto owner = layout_.by_name.find(path[0].get<std::string>());
    if (owner == layout_.by_name.end()) return false;
    const Header& header = layout_.headers[owner->second];
    const auto found = header.find(path[1].get<std::string>());
    return found && header.fields[*found].varbit;
}

FieldRef FieldNames::varbit(const Json& path, const std::string& where) const {
    if (!is_varbit(path)) fail(where, "expected a field of variable length");
    const std::uint32_t index = header(path[0], where);
    const Header& owner = layout_.headers[index];
    return {index, owner.fields[*owner.varbit].slot, 0, false};
}

void FieldNames::use_whole(std::uint32_t index) {
    for (Field& field : layout_.headers[index].fields)
        field.used = field.written = !field.varbit && !field.opaque;
}

std::uint32_t FieldNames::stack(const Json& name, const std::string& where) const {
    if (!name.is_string()) fail(where, "expected the name of a header stack");
    const auto found = stacks_.find(name.get<std::string>());
    if (found == stacks_.end()) fail(where, "no header stack '" + name.get<std::string>() + "'");
    return found->second;
}

std::uint32_t FieldNames::header_union(const Json& name, const std::string& where) const {
    if (!name.is_string()) fail(where, "expected the name of a header union");
    const auto found = unions_.find(name.get<std::string>());
    if (found == unions_.end()) fail(where, "no header union '" + name.get<std::string>() + "'");
    return found->second;
}

FieldRef FieldNames::element_field(std::uint32_t index, std::uint32_t member, std::uint32_t field, bool write,
                                   const std::string& where) {
    const HeaderStack& of = layout_.stacks[index];
    const std::uint32_t first = of.header(0, member);
    Header& owner = layout_.headers[first];
    if (field >= owner.fields.size()) fail(where, "no such field in header '" + owner.name + "'");
    Field& found = owner.fields[field];
    if (found.varbit || found.opaque)
        unsupported(where, "use of a stack's field of variable length or of more than 128 bits");
    found.used = true;  // by all elements, see share_uses
    found.written |= write;
    return {first, found.slot, found.width, found.is_signed};
}

// [stack, field] or [union stack, header, field]
FieldNames::LastField FieldNames::last_field(const Json& path, bool write, const std::string& where) {
    if (!path.is_array() || path.size() < 2 || path.size() > 3 || !path.back().is_string())
        fail(where, "a field of a stack is [stack, field] or [stack, header, field]");
    const std::uint32_t index = stack(path[0], where);
    const HeaderStack& of = layout_.stacks[index];
    const std::uint32_t which = path.size() == 3 ? union_member(of, path[1], where) : 0;
    const auto found = layout_.headers[of.header(0, which)].find(path.back().get<std::string>());
    if (!found) fail(where, "no field '" + path.back().get<std::string>() + "' in stack '" + of.name + "'");
    return {index, which, element_field(index, which, *found, write, where)};
}

// The members of a union's type are named in the JSON's header_union_types.
std::uint32_t FieldNames::union_member(const HeaderStack& of, const Json& name,
                                       const std::string& where) const {
    for (const Json& json : array_member(root_, "header_union_stacks", "program")) {
        if (text_member(json, "name", where) != of.name) continue;
        const std::string type = text_member(json, "union_type", where);
        for (const Json& union_type : array_member(root_, "header_union_types", "program")) {
            if (text_member(union_type, "name", where) != type) continue;
            const Json& headers = array_member(union_type, "headers", where);
            for (std::uint32_t i = 0; i < headers.size() && i < of.members; ++i)
                if (headers[i].is_array() && !headers[i].empty() && headers[i][0] == name) return i;
        }
    }
    fail(where, "no header " + name.dump() + " in union stack '" + of.name + "'");
}

}  // namespace csaud::sw
