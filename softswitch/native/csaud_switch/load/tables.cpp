#include "csaud_switch/load/tables.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "csaud_switch/load/calculations.hpp"
#include "csaud_switch/load/entries.hpp"

namespace csaud::sw {

namespace {

MatchKind match_kind(const std::string& type, const std::string& where) {
    if (type == "exact") return MatchKind::kExact;
    if (type == "lpm") return MatchKind::kLpm;
    if (type == "ternary") return MatchKind::kTernary;
    if (type == "range") return MatchKind::kRange;
    if (type == "optional") return MatchKind::kOptional;
    unsupported(where, "match type '" + type + "'");
}

}  // namespace

void TableLoader::load_profile(const Json& json) {
    auto profile = std::make_unique<ActionProfile>();
    profile->name = text_member(json, "name", "action_profiles");
    const std::string where = "action profile '" + profile->name + "'";
    profile->size = number_member(json, "max_size", where);
    if (const Json& selector = member_or_null(json, "selector"); !selector.is_null()) {
        Calculation hash;
        const std::string algorithm = text_member(selector, "algo", where);
        const auto known = hash_algorithm(algorithm);
        if (!known) unsupported(where, "hash algorithm '" + algorithm + "'");
        hash.algorithm = *known;
        for (const Json& input : array_member(selector, "input", where)) {
            hash.inputs.push_back(calculation_input(input, fields_, where));
            hash.bits += hash.inputs.back().width;
        }
        hash.prepare();
        profile->selector = std::make_shared<const Calculation>(std::move(hash));
    }
    names_.profiles.emplace(profile->name, static_cast<std::uint32_t>(program_.profiles.size()));
    program_.profiles.push_back(std::move(profile));
}

std::unique_ptr<Table> TableLoader::load(const Json& json) {
    auto table = std::make_unique<Table>();
    table->name = text_member(json, "name", "tables");
    const std::string where = "table '" + table->name + "'";
    table->size = number_member(json, "max_size", where);
    if (const Json& name = member_or_null(json, "direct_meters"); !name.is_null()) {
        const auto found = names_.direct_meters.find(text_member(json, "direct_meters", where));
        if (found == names_.direct_meters.end())
            fail(where, "no direct meter '" + name.get<std::string>() + "'");
        table->direct_meter = found->second;
        table->meter_target = names_.direct_meter_targets.at(found->second);
        program_.meters[found->second].table = table->name;
    }
    table->idle_timeout = flag_member(json, "support_timeout", false);
    load_keys(*table, json, where);
    for (const Json& id : array_member(json, "action_ids", where)) {
        const auto found = names_.actions.find(id.get<std::uint32_t>());
        if (found == names_.actions.end()) fail(where, "no action with id " + id.dump());
        table->actions.push_back(found->second);
    }
    const std::string type = text_member(json, "type", where);
    if (type == "indirect" || type == "indirect_ws") {
        const std::string profile = text_member(json, "action_profile", where);
        const auto found = names_.profiles.find(profile);
        if (found == names_.profiles.end()) fail(where, "no action profile '" + profile + "'");
        table->profile = found->second;
        ActionProfile& used = *program_.profiles[found->second];
        used.tables.push_back(table->name);
        for (const std::uint32_t action : table->actions)
            if (std::find(used.actions.begin(), used.actions.end(), action) == used.actions.end())
                used.actions.push_back(action);
    } else if (type != "simple") {
        unsupported(where, "table type '" + type + "'");
    }
    if (flag_member(json, "with_counters", false))
        for (const CounterArray& counter : program_.counters)
            if (counter.table == table->name) table->direct_counter = counter.name;
    if (const Json& entry = member_or_null(json, "default_entry"); !entry.is_null())
        load_default(*table, entry, logic_, names_, where);
    table->default_entry = table->program_default;
    if (const Json& entries = member_or_null(json, "entries"); !entries.is_null())
        load_entries(*table, entries, logic_, names_, where);
    return table;
}

void TableLoader::load_keys(Table& table, const Json& json, const std::string& where) {
    for (const Json& key : array_member(json, "key", where)) {
        KeyField field;
        field.kind = match_kind(text_member(key, "match_type", where), where);
        field.source = fields_.read(member(key, "target", where), where);
        if (const Json& mask = member_or_null(key, "mask"); !mask.is_null())
            field.mask = static_cast<UWide>(parse_hex(mask, where));
        field.name = optional_text(key, "name");
        if (field.name.empty())
            field.name = key["target"][0].get<std::string>() + "." + key["target"][1].get<std::string>();
        if (field.source.is_signed && field.kind == MatchKind::kRange)
            unsupported(where, "a range of signed numbers");
        table.keys.push_back(std::move(field));
    }
    table.prepare();
}

}  // namespace csaud::sw
