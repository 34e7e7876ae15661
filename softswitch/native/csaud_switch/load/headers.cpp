// Header types, headers, aliases and the fields that the target itself sets or reads.
#include <set>

#include "csaud_switch/load/loader.hpp"

namespace csaud::sw {

namespace {

Field load_field(const Json& json, const std::string& where) {
    if (!json.is_array() || json.size() < 2 || !json[0].is_string())
        fail(where, "a field is [name, width, signed]");
    Field field;
    field.name = json[0].get<std::string>();
    if (json[1].is_string()) {
        if (json[1] != "*") fail(where, "field '" + field.name + "' has no width");
        field.varbit = true;
        return field;
    }
    if (!json[1].is_number_integer()) fail(where, "field '" + field.name + "' has no width");
    const std::int64_t width = json[1].get<std::int64_t>();
    if (width < 1) fail(where, "field '" + field.name + "' has width " + std::to_string(width));
    if (width > 8 * kMaxHeaderBytes)
        unsupported(where, "field '" + field.name + "' of " + std::to_string(width) + " bits");
    field.opaque = width > kMaxFieldBits;
    field.width = static_cast<unsigned>(width);
    field.is_signed = json.size() > 2 && json[2].is_boolean() && json[2].get<bool>();
    return field;
}

}  // namespace

void Loader::load_headers() {
    struct Type {
        std::vector<Field> fields;
        std::uint32_t max_bytes = 0;  // of a header with a field of variable length
    };
    std::unordered_map<std::string, Type> types;
    for (const Json& json : array_member(root_, "header_types", "program")) {
        const std::string name = text_member(json, "name", "header_types");
        const std::string where = "header type '" + name + "'";
        Type type;
        std::size_t varbits = 0;
        for (const Json& field : array_member(json, "fields", where)) {
            type.fields.push_back(load_field(field, where));
            varbits += type.fields.back().varbit ? 1 : 0;
        }
        if (varbits > 1) unsupported(where, "more than one field of variable length");
        if (json.contains("length_exp")) unsupported(where, "'length_exp' (p4c writes 'extract_VL')");
        if (varbits > 0) type.max_bytes = number_member(json, "max_length", where);
        types.emplace(name, std::move(type));
    }

    Layout& layout = logic_->layout;
    for (const Json& json : array_member(root_, "headers", "program")) {
        Header header;
        header.name = text_member(json, "name", "headers");
        header.type = text_member(json, "header_type", "header '" + header.name + "'");
        header.metadata = flag_member(json, "metadata", false);
        const auto type = types.find(header.type);
        if (type == types.end()) fail("header '" + header.name + "'", "no header type '" + header.type + "'");
        header.fields = type->second.fields;
        header.varbit_bytes = type->second.max_bytes;
        for (std::uint32_t i = 0; i < header.fields.size(); ++i)
            if (header.fields[i].varbit) header.varbit = i;
        layout.by_name.emplace(header.name, static_cast<std::uint32_t>(layout.headers.size()));
        layout.headers.push_back(std::move(header));
    }

    load_unions();
    load_stacks();
    for (const std::uint32_t index : order_of_headers())
        layout.headers[index].valid_slot = layout.slot_count++;
    for (const std::uint32_t index : order_of_headers()) place_fields(layout.headers[index]);
    place_stacks();
}

void Loader::place_fields(Header& header) {
    Layout& layout = logic_->layout;
    header.first_slot = layout.slot_count;
    std::uint32_t bits = 0;
    for (Field& field : header.fields) {
        field.slot = layout.slot_count;
        field.bit_offset = bits;
        layout.slot_count += field.opaque ? 0 : (field.varbit ? 2 : words_for(field.width));
        bits += field.width;
    }
    header.slot_count = layout.slot_count - header.first_slot;
    const std::string where = "header '" + header.name + "'";
    if (!header.metadata && bits % 8 != 0) fail(where, std::to_string(bits) + " bits, not a multiple of 8");
    header.bytes = bits / 8;
    if (!header.varbit) return;
    if (header.varbit_bytes < header.bytes) fail(where, "'max_length' is less than what is fixed in it");
    header.varbit_bytes -= header.bytes;
    for (Field& field : header.fields) {
        if (field.opaque) unsupported(where, "a field of more than 128 bits beside one of variable length");
        field.used = field.written = !field.varbit;
    }
}

std::uint32_t Loader::header(const Json& name, const std::string& where) const {
    if (!name.is_string()) fail(where, "expected the name of a header");
    const auto found = logic_->layout.by_name.find(name.get<std::string>());
    if (found == logic_->layout.by_name.end()) fail(where, "no header '" + name.get<std::string>() + "'");
    return found->second;
}

FieldRef Loader::field(const Json& path, const std::string& where, bool write) {
    if (!path.is_array() || path.size() != 2 || !path[1].is_string())
        fail(where, "a field is [header, field]");
    const std::uint32_t index = header(path[0], where);
    Header& owner = logic_->layout.headers[index];
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

bool Loader::is_varbit(const Json& path) const {
    if (!path.is_array() || path.size() != 2 || !path[0].is_string() || !path[1].is_string()) return false;
    const auto owner = logic_->layout.by_name.find(path[0].get<std::string>());
    if (owner == logic_->layout.by_name.end()) return false;
    const Header& header = logic_->layout.headers[owner->second];
    const auto found = header.find(path[1].get<std::string>());
    return found && header.fields[*found].varbit;
}

FieldRef Loader::varbit(const Json& path, const std::string& where) const {
    if (!is_varbit(path)) fail(where, "expected a field of variable length");
    const std::uint32_t index = header(path[0], where);
    const Header& owner = logic_->layout.headers[index];
    return {index, owner.fields[*owner.varbit].slot, 0, false};
}

void Loader::use_whole(std::uint32_t index) {
    for (Field& field : logic_->layout.headers[index].fields)
        field.used = field.written = !field.varbit && !field.opaque;
}

void Loader::load_aliases() {
    if (!root_.contains("field_aliases")) return;
    for (const Json& alias : array_member(root_, "field_aliases", "program")) {
        if (!alias.is_array() || alias.size() != 2 || !alias[0].is_string())
            fail("field_aliases", "an alias is [name, [header, field]]");
        const std::string name = alias[0].get<std::string>();
        logic_->layout.aliases.emplace(name, write(alias[1], "field alias '" + name + "'"));
    }
}

void Loader::find_target_fields() {
    const auto find = [this](const std::string& header, const std::string& name) -> std::optional<FieldRef> {
        const auto alias = logic_->layout.aliases.find(header + "." + name);
        if (alias != logic_->layout.aliases.end()) return alias->second;
        const auto found = logic_->layout.by_name.find(header);
        if (found == logic_->layout.by_name.end()) return std::nullopt;
        if (!logic_->layout.headers[found->second].find(name)) return std::nullopt;
        return write(Json::array({header, name}), "standard metadata");
    };
    TargetFields& t = logic_->target;
    t.ingress_port = find("standard_metadata", "ingress_port");
    t.egress_spec = find("standard_metadata", "egress_spec");
    t.egress_port = find("standard_metadata", "egress_port");
    t.instance_type = find("standard_metadata", "instance_type");
    t.packet_length = find("standard_metadata", "packet_length");
    t.checksum_error = find("standard_metadata", "checksum_error");
    t.parser_error = find("standard_metadata", "parser_error");
    t.ingress_timestamp = find("intrinsic_metadata", "ingress_global_timestamp");
    t.egress_timestamp = find("intrinsic_metadata", "egress_global_timestamp");
    t.mcast_grp = find("intrinsic_metadata", "mcast_grp");
    t.egress_rid = find("intrinsic_metadata", "egress_rid");
    t.priority = find("intrinsic_metadata", "priority");
    t.enq_timestamp = find("queueing_metadata", "enq_timestamp");
    t.enq_qdepth = find("queueing_metadata", "enq_qdepth");
    t.deq_timedelta = find("queueing_metadata", "deq_timedelta");
    t.deq_qdepth = find("queueing_metadata", "deq_qdepth");
    t.qid = find("queueing_metadata", "qid");
    t.queueing = t.enq_timestamp && t.enq_qdepth && t.deq_timedelta && t.deq_qdepth;
    for (const auto& [name, present] :
         std::initializer_list<std::pair<const char*, bool>>{{"ingress_port", t.ingress_port.has_value()},
                                                             {"egress_spec", t.egress_spec.has_value()},
                                                             {"egress_port", t.egress_port.has_value()},
                                                             {"instance_type", t.instance_type.has_value()},
                                                             {"packet_length", t.packet_length.has_value()}})
        if (!present) fail("program", std::string("standard_metadata.") + name + " is missing");
}

void Loader::load_field_lists() {
    if (!root_.contains("field_lists")) return;
    for (const Json& json : array_member(root_, "field_lists", "program")) {
        const std::uint32_t id = number_member(json, "id", "field_lists");
        const std::string where = "field list " + std::to_string(id);
        FieldList list;
        for (const Json& element : array_member(json, "elements", where)) {
            if (text_member(element, "type", where) != "field")
                unsupported(where, "an element that is not a field");
            list.fields.push_back(write(member(element, "value", where), where));
        }
        field_lists_.emplace(id, static_cast<std::uint32_t>(logic_->field_lists.size()));
        logic_->field_lists.push_back(std::move(list));
    }
}

void Loader::finish_headers() {
    share_uses();
    for (const Header& header : logic_->layout.headers) {
        HeaderCode code;
        code.valid_slot = header.valid_slot;
        code.first_slot = header.first_slot;
        code.slot_count = header.slot_count;
        code.bytes = header.bytes;
        if (header.varbit) {
            code.varbit = true;
            code.varbit_slot = header.fields[*header.varbit].slot;
            code.varbit_offset = header.fields[*header.varbit].bit_offset;
            code.varbit_bytes = header.varbit_bytes;
        }
        for (const Field& field : header.fields) {
            const FieldMove move{field.slot, field.bit_offset, field.width};
            if (field.used) code.extract.push_back(move);
            if (field.written) code.deposit.push_back(move);
        }
        logic_->headers.push_back(std::move(code));
    }
    for (const HeaderUnion& owner : logic_->layout.unions)
        for (const std::uint32_t one : owner.headers)
            for (const std::uint32_t other : owner.headers)
                if (one != other)
                    logic_->headers[one].siblings.push_back(logic_->layout.headers[other].valid_slot);
}

}  // namespace csaud::sw
