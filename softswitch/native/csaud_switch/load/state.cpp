#include "csaud_switch/load/state.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace csaud::sw {

namespace {

void load_counters(const Json& root, Program& program, Names& names) {
    for (const Json& json : array_member(root, "counter_arrays", "program")) {
        CounterArray counter;
        counter.name = text_member(json, "name", "counter_arrays");
        if (flag_member(json, "is_direct", false)) {
            counter.table = text_member(json, "binding", "counter '" + counter.name + "'");
        } else {
            counter.cells.resize(number_member(json, "size", "counter '" + counter.name + "'"));
            names.counters.emplace(counter.name, static_cast<std::uint32_t>(program.counters.size()));
        }
        program.counters.push_back(std::move(counter));
    }
}

void load_registers(const Json& root, Program& program, Names& names) {
    for (const Json& json : array_member(root, "register_arrays", "program")) {
        RegisterArray array;
        array.name = text_member(json, "name", "register_arrays");
        const std::string where = "register '" + array.name + "'";
        array.size = number_member(json, "size", where);
        array.width = number_member(json, "bitwidth", where);
        if (array.width < 1 || array.width > kMaxFieldBits)
            unsupported(where, "a width of " + std::to_string(array.width) + " bits");
        array.words.resize(std::size_t{array.size} * words_for(array.width));
        names.registers.emplace(array.name, static_cast<std::uint32_t>(program.registers.size()));
        program.registers.push_back(std::move(array));
    }
}

void load_meters(const Json& root, FieldNames& fields, Program& program, Names& names) {
    if (!root.contains("meter_arrays")) return;
    for (const Json& json : array_member(root, "meter_arrays", "program")) {
        MeterArray meter;
        meter.name = text_member(json, "name", "meter_arrays");
        const std::string where = "meter '" + meter.name + "'";
        const std::string type = text_member(json, "type", where);
        if (type != "packets" && type != "bytes") unsupported(where, "a meter of '" + type + "'");
        meter.bytes = type == "bytes";
        if (number_member(json, "rate_count", where) != 2)
            unsupported(where, "a number of rates other than 2");
        const auto index = static_cast<std::uint32_t>(program.meters.size());
        if (flag_member(json, "is_direct", false)) {
            names.direct_meters.emplace(meter.name, index);
            names.direct_meter_targets.emplace(index,
                                               fields.write(member(json, "result_target", where), where));
        } else {
            meter.cells.resize(number_member(json, "size", where));
            names.meters.emplace(meter.name, index);
        }
        program.meters.push_back(std::move(meter));
    }
}

void load_value_sets(const Json& root, Program& program, Names& names) {
    if (!root.contains("parse_vsets")) return;
    for (const Json& json : array_member(root, "parse_vsets", "program")) {
        ValueSet set;
        set.name = text_member(json, "name", "parse_vsets");
        const std::string where = "value set '" + set.name + "'";
        set.bits = number_member(json, "compressed_bitwidth", where);
        if (json.contains("max_size")) set.size = number_member(json, "max_size", where);
        set.widths = {set.bits};  // until the parser says which parts its key has
        names.value_sets.emplace(set.name, static_cast<std::uint32_t>(program.value_sets.size()));
        program.value_sets.push_back(std::move(set));
    }
}

void load_digests(const Json& root, FieldNames& fields, Program& program, Names& names) {
    if (!root.contains("learn_lists")) return;
    for (const Json& json : array_member(root, "learn_lists", "program")) {
        Digest digest;
        digest.name = text_member(json, "name", "learn_lists");
        const std::string where = "digest '" + digest.name + "'";
        for (const Json& element_json : array_member(json, "elements", where)) {
            Digest::Element element;
            const std::string type = text_member(element_json, "type", where);
            const Json& value = member(element_json, "value", where);
            if (type == "field") {
                element.field = fields.read(value, where);
                element.name = value[0].get<std::string>() + "." + value[1].get<std::string>();
            } else if (type == "hexstr") {
                const auto number = static_cast<UWide>(parse_hex(value, where));
                element.field.width = element_json.contains("bitwidth")
                                          ? number_member(element_json, "bitwidth", where)
                                          : static_cast<unsigned>(4 * (value.get<std::string>().size() - 2));
                element.value[0] = static_cast<std::uint64_t>(number);
                element.value[1] = static_cast<std::uint64_t>(number >> 64);
            } else {
                unsupported(where, "'" + type + "' as a member of a digest");
            }
            digest.elements.push_back(std::move(element));
        }
        names.digests.emplace(number_member(json, "id", where),
                              static_cast<std::uint32_t>(program.digests.size()));
        program.digests.push_back(std::move(digest));
    }
}

}  // namespace

void load_state(const Json& root, FieldNames& fields, Program& program, Names& names) {
    load_counters(root, program, names);
    load_registers(root, program, names);
    load_meters(root, fields, program, names);
    load_value_sets(root, program, names);
    load_digests(root, fields, program, names);
}

}  // namespace csaud::sw
