#include "csaud_switch/load/headers.hpp"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/load/stacks.hpp"

namespace csaud::sw {

namespace {

struct HeaderType {
    std::vector<Field> fields;
    std::uint32_t max_bytes = 0;  // of a header with a field of variable length
};

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

std::unordered_map<std::string, HeaderType> load_types(const Json& root) {
    std::unordered_map<std::string, HeaderType> types;
    for (const Json& json : array_member(root, "header_types", "program")) {
        const std::string name = text_member(json, "name", "header_types");
        const std::string where = "header type '" + name + "'";
        HeaderType type;
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
    return types;
}

void place_fields(Header& header, Layout& layout) {
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

}  // namespace

void load_headers(const Json& root, Layout& layout) {
    const std::unordered_map<std::string, HeaderType> types = load_types(root);
    for (const Json& json : array_member(root, "headers", "program")) {
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

    load_unions(root, layout);
    load_stacks(root, layout);
    for (const std::uint32_t index : order_of_headers(layout))
        layout.headers[index].valid_slot = layout.slot_count++;
    for (const std::uint32_t index : order_of_headers(layout)) place_fields(layout.headers[index], layout);
    place_stacks(layout);
}

}  // namespace csaud::sw
