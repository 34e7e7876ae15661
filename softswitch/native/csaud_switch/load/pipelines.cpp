#include <algorithm>

#include "csaud_switch/base/error.hpp"
#include "csaud_switch/load/loader.hpp"

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

// The node of this name, kEnd for null.
std::uint32_t node_of(const Json& name, const std::unordered_map<std::string, std::uint32_t>& nodes,
                      const std::string& where) {
    if (name.is_null()) return kEnd;
    const auto found = nodes.find(name.get<std::string>());
    if (found == nodes.end()) fail(where, "no next node '" + name.get<std::string>() + "'");
    return found->second;
}

const Json kNull;

const Json& member_or_null(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() ? kNull : *found;
}

}  // namespace

void Loader::load_pipelines() {
    for (const Json& json : array_member(root_, "pipelines", "program")) {
        const std::string name = text_member(json, "name", "pipelines");
        if (name != "ingress" && name != "egress") unsupported("pipelines", "a pipeline '" + name + "'");
        (name == "ingress" ? logic_->ingress : logic_->egress) = load_pipeline(json);
    }
}

Pipeline Loader::load_pipeline(const Json& json) {
    Pipeline pipeline;
    pipeline.name = text_member(json, "name", "pipelines");
    const std::string where = "pipeline '" + pipeline.name + "'";
    if (json.contains("action_profiles"))
        for (const Json& profile : array_member(json, "action_profiles", where)) load_profile(profile);

    const Json none = Json::array();
    const Json& tables = array_member(json, "tables", where);
    const Json& conditionals =
        json.contains("conditionals") ? array_member(json, "conditionals", where) : none;
    const Json& calls = json.contains("action_calls") ? array_member(json, "action_calls", where) : none;
    std::unordered_map<std::string, std::uint32_t> nodes;
    for (const Json* list : {&tables, &conditionals, &calls})
        for (const Json& node : *list)
            nodes.emplace(text_member(node, "name", where), static_cast<std::uint32_t>(nodes.size()));

    for (const Json& table_json : tables) {
        std::unique_ptr<Table> table = load_table(table_json);
        load_table_flow(*table, table_json, nodes);
        FlowNode node;
        // The tables that p4c makes of statements are nothing but a call of their action.
        const Binding& binding = table->program_default.binding;
        if (table->keys.empty() && table->const_default && table->program_default.set && !table->profile &&
            table->direct_counter.empty() && binding.parameters.empty()) {
            node.kind = FlowNode::Kind::kCall;
            node.index = binding.action;
            node.next_true = table->by_hit ? table->next_miss : table->next_by_action[binding.action];
        } else {
            node.index = static_cast<std::uint32_t>(program_->tables.size());
        }
        program_->tables.push_back(std::move(table));
        pipeline.nodes.push_back(std::move(node));
    }
    for (const Json& conditional : conditionals) {
        const std::string at = "condition '" + text_member(conditional, "name", where) + "'";
        FlowNode node;
        node.kind = FlowNode::Kind::kCondition;
        node.condition = expression(member(conditional, "expression", at), 0, {at});
        node.next_true = node_of(member_or_null(conditional, "true_next"), nodes, at);
        node.next_false = node_of(member_or_null(conditional, "false_next"), nodes, at);
        pipeline.nodes.push_back(std::move(node));
    }
    for (const Json& call : calls) {
        const std::string at = "action call '" + text_member(call, "name", where) + "'";
        const auto action = action_by_id_.find(number_member(call, "action_id", at));
        if (action == action_by_id_.end()) fail(at, "no such action");
        FlowNode node;
        node.kind = FlowNode::Kind::kCall;
        node.index = action->second;
        node.next_true = node_of(member_or_null(call, "next_node"), nodes, at);
        pipeline.nodes.push_back(std::move(node));
    }
    pipeline.start = node_of(member_or_null(json, "init_table"), nodes, where);
    return pipeline;
}

void Loader::load_profile(const Json& json) {
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
            hash.inputs.push_back(calculation_input(input, where));
            hash.bits += hash.inputs.back().width;
        }
        hash.prepare();
        profile->selector = std::make_shared<const Calculation>(std::move(hash));
    }
    profiles_.emplace(profile->name, static_cast<std::uint32_t>(program_->profiles.size()));
    program_->profiles.push_back(std::move(profile));
}

std::unique_ptr<Table> Loader::load_table(const Json& json) {
    auto table = std::make_unique<Table>();
    table->name = text_member(json, "name", "tables");
    const std::string where = "table '" + table->name + "'";
    table->size = number_member(json, "max_size", where);
    if (const Json& name = member_or_null(json, "direct_meters"); !name.is_null()) {
        const auto found = direct_meters_.find(text_member(json, "direct_meters", where));
        if (found == direct_meters_.end()) fail(where, "no direct meter '" + name.get<std::string>() + "'");
        table->direct_meter = found->second;
        table->meter_target = direct_meter_targets_.at(found->second);
        program_->meters[found->second].table = table->name;
    }
    table->idle_timeout = flag_member(json, "support_timeout", false);
    load_keys(*table, json, where);
    for (const Json& id : array_member(json, "action_ids", where)) {
        const auto found = action_by_id_.find(id.get<std::uint32_t>());
        if (found == action_by_id_.end()) fail(where, "no action with id " + id.dump());
        table->actions.push_back(found->second);
    }
    const std::string type = text_member(json, "type", where);
    if (type == "indirect" || type == "indirect_ws") {
        const std::string profile = text_member(json, "action_profile", where);
        const auto found = profiles_.find(profile);
        if (found == profiles_.end()) fail(where, "no action profile '" + profile + "'");
        table->profile = found->second;
        ActionProfile& used = *program_->profiles[found->second];
        used.tables.push_back(table->name);
        for (const std::uint32_t action : table->actions)
            if (std::find(used.actions.begin(), used.actions.end(), action) == used.actions.end())
                used.actions.push_back(action);
    } else if (type != "simple") {
        unsupported(where, "table type '" + type + "'");
    }
    if (flag_member(json, "with_counters", false))
        for (const CounterArray& counter : program_->counters)
            if (counter.table == table->name) table->direct_counter = counter.name;
    if (const Json& entry = member_or_null(json, "default_entry"); !entry.is_null())
        load_default(*table, entry, where);
    table->default_entry = table->program_default;
    if (const Json& entries = member_or_null(json, "entries"); !entries.is_null())
        load_entries(*table, entries, where);
    return table;
}

void Loader::load_keys(Table& table, const Json& json, const std::string& where) {
    for (const Json& key : array_member(json, "key", where)) {
        KeyField field;
        field.kind = match_kind(text_member(key, "match_type", where), where);
        field.source = read(member(key, "target", where), where);
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

void Loader::load_table_flow(Table& table, const Json& json,
                             const std::unordered_map<std::string, std::uint32_t>& nodes) {
    const std::string where = "table '" + table.name + "'";
    table.base_next = node_of(member_or_null(json, "base_default_next"), nodes, where);
    table.next_by_action.assign(logic_->actions.size(), table.base_next);
    const Json& next = member(json, "next_tables", where);
    if (next.contains("__HIT__") || next.contains("__MISS__")) {
        table.by_hit = true;
        table.next_hit = node_of(member_or_null(next, "__HIT__"), nodes, where);
        table.next_miss = node_of(member_or_null(next, "__MISS__"), nodes, where);
        return;
    }
    for (const std::uint32_t action : table.actions) {
        const auto found = next.find(logic_->actions[action].name);
        if (found != next.end()) table.next_by_action[action] = node_of(*found, nodes, where);
    }
}

Binding Loader::action_entry(const Table& table, const Json& json, const std::string& where) const {
    const auto found = action_by_id_.find(number_member(json, "action_id", where));
    if (found == action_by_id_.end() ||
        std::find(table.actions.begin(), table.actions.end(), found->second) == table.actions.end())
        fail(where,
             "action " + std::to_string(number_member(json, "action_id", where)) + " is none of the table's");
    const Action& action = logic_->actions[found->second];
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

void Loader::load_default(Table& table, const Json& json, const std::string& where) {
    table.program_default.set = true;
    table.program_default.binding = action_entry(table, json, where + ", default entry");
    table.const_default =
        flag_member(json, "action_const", false) || flag_member(json, "action_entry_const", false);
}

MatchField Loader::entry_field(const Json& json, const KeyField& key, const std::string& where) const {
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

void Loader::load_entries(Table& table, const Json& entries, const std::string& where) {
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
            table.insert(match, priority, action_entry(table, member(entries[i], "action_entry", at), at),
                         true);
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
