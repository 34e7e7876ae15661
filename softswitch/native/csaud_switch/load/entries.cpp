#include "csaud_switch/load/entries.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "csaud_switch/base/error.hpp"

namespace csaud::sw {

namespace {

Binding action_entry(const Table& table, const Json& json, const Logic& logic, const Names& names,
                     const std::string& where) {
    const auto found = names.actions.find(number_member(json, "action_id", where));
    if (found == names.actions.end() ||
        std::find(table.actions.begin(), table.actions.end(), found->second) == table.actions.end())
        fail(where,
             "action " + std::to_string(number_member(json, "action_id", where)) + " is none of the table's");
    const Action& action = logic.actions[found->second];
    Binding binding;
    binding.action = found->second;
    binding.parameters.resize(action.words);
    const Json& data = array_member(json, "action_data", where);
    if (data.size() != action.parameters.size())
        fail(where, "wrong number of parameters for action '" + action.name + "'");
    for (std::size_t i = 0; i < data.size(); ++i) {
        const ActionParameter& parameter = action.parameters[i];
        const auto value = static_cast<UWide>(parse_hex(data[i], where)) & mask128(parameter.width);
        binding.parameters[parameter.word] = static_cast<std::uint64_t>(value);
        if (parameter.width > 64)
            binding.parameters[parameter.word + 1] = static_cast<std::uint64_t>(value >> 64);
    }
    return binding;
}

MatchField entry_field(const Json& json, const KeyField& key, const std::string& where) {
    const std::size_t bytes = (key.source.width + 7) / 8;
    const auto value = [&](const char* name) {
        return parse_hex_bytes(member(json, name, where), bytes, where);
    };
    MatchField field;
    switch (key.kind) {
        case MatchKind::kExact:
            field.kind = MatchField::Kind::kExact;
            field.value = value("key");
            break;
        case MatchKind::kLpm:
            field.kind = MatchField::Kind::kLpm;
            field.value = value("key");
            field.prefix = static_cast<int>(number_member(json, "prefix_length", where));
            break;
        case MatchKind::kTernary:
        case MatchKind::kOptional: {
            field.value = value("key");
            field.other = value("mask");
            const bool any =
                std::all_of(field.other.begin(), field.other.end(), [](std::uint8_t b) { return b == 0; });
            if (any) return {};
            field.kind =
                key.kind == MatchKind::kTernary ? MatchField::Kind::kTernary : MatchField::Kind::kOptional;
            if (key.kind == MatchKind::kOptional) field.other.clear();
            break;
        }
        case MatchKind::kRange:
            field.kind = MatchField::Kind::kRange;
            field.value = value("start");
            field.other = value("end");
            break;
    }
    return field;
}

}  // namespace

void load_default(Table& table, const Json& json, const Logic& logic, const Names& names,
                  const std::string& where) {
    table.program_default.set = true;
    table.program_default.binding = action_entry(table, json, logic, names, where + ", default entry");
    table.const_default =
        flag_member(json, "action_const", false) || flag_member(json, "action_entry_const", false);
}

void load_entries(Table& table, const Json& entries, const Logic& logic, const Names& names,
                  const std::string& where) {
    table.const_entries = true;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const std::string at = where + ", entry " + std::to_string(i);
        const Json& keys = array_member(entries[i], "match_key", at);
        if (keys.size() != table.keys.size()) fail(at, "wrong number of match fields");
        std::vector<MatchField> match;
        for (std::size_t k = 0; k < keys.size(); ++k)
            match.push_back(entry_field(keys[k], table.keys[k], at));
        // In the JSON the smaller number wins; towards a control plane it is the larger.
        int priority = 0;
        if (table.needs_priority())
            priority = INT32_MAX - static_cast<int>(number_member(entries[i], "priority", at));
        try {
            table.insert(match, priority,
                         action_entry(table, member(entries[i], "action_entry", at), logic, names, at), true);
        } catch (const InvalidArgument& error) {
            fail(at, error.what());
        } catch (const AlreadyExists& error) {
            fail(at, error.what());
        } catch (const ResourceExhausted& error) {
            fail(at, error.what());
        }
    }
}

}  // namespace csaud::sw
