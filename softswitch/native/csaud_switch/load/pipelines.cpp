#include "csaud_switch/load/pipelines.hpp"

#include <memory>
#include <utility>

namespace csaud::sw {

namespace {

// The node of this name, kEnd for null.
std::uint32_t node_of(const Json& name, const std::unordered_map<std::string, std::uint32_t>& nodes,
                      const std::string& where) {
    if (name.is_null()) return kEnd;
    const auto found = nodes.find(name.get<std::string>());
    if (found == nodes.end()) fail(where, "no next node '" + name.get<std::string>() + "'");
    return found->second;
}

}  // namespace

void PipelineLoader::load(const Json& root) {
    for (const Json& json : array_member(root, "pipelines", "program")) {
        const std::string name = text_member(json, "name", "pipelines");
        if (name != "ingress" && name != "egress") unsupported("pipelines", "a pipeline '" + name + "'");
        (name == "ingress" ? logic_.ingress : logic_.egress) = load_pipeline(json);
    }
}

Pipeline PipelineLoader::load_pipeline(const Json& json) {
    Pipeline pipeline;
    pipeline.name = text_member(json, "name", "pipelines");
    const std::string where = "pipeline '" + pipeline.name + "'";
    if (json.contains("action_profiles"))
        for (const Json& profile : array_member(json, "action_profiles", where))
            tables_.load_profile(profile);

    const Json none = Json::array();
    const Json& tables = array_member(json, "tables", where);
    const Json& conditionals =
        json.contains("conditionals") ? array_member(json, "conditionals", where) : none;
    const Json& calls = json.contains("action_calls") ? array_member(json, "action_calls", where) : none;
    Nodes nodes;
    for (const Json* list : {&tables, &conditionals, &calls})
        for (const Json& node : *list)
            nodes.emplace(text_member(node, "name", where), static_cast<std::uint32_t>(nodes.size()));

    for (const Json& table_json : tables) {
        std::unique_ptr<Table> table = tables_.load(table_json);
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
            node.index = static_cast<std::uint32_t>(program_.tables.size());
        }
        program_.tables.push_back(std::move(table));
        pipeline.nodes.push_back(std::move(node));
    }
    for (const Json& conditional : conditionals) {
        const std::string at = "condition '" + text_member(conditional, "name", where) + "'";
        FlowNode node;
        node.kind = FlowNode::Kind::kCondition;
        node.condition = expressions_.load(member(conditional, "expression", at), 0, {at});
        node.next_true = node_of(member_or_null(conditional, "true_next"), nodes, at);
        node.next_false = node_of(member_or_null(conditional, "false_next"), nodes, at);
        pipeline.nodes.push_back(std::move(node));
    }
    for (const Json& call : calls) {
        const std::string at = "action call '" + text_member(call, "name", where) + "'";
        const auto action = names_.actions.find(number_member(call, "action_id", at));
        if (action == names_.actions.end()) fail(at, "no such action");
        FlowNode node;
        node.kind = FlowNode::Kind::kCall;
        node.index = action->second;
        node.next_true = node_of(member_or_null(call, "next_node"), nodes, at);
        pipeline.nodes.push_back(std::move(node));
    }
    pipeline.start = node_of(member_or_null(json, "init_table"), nodes, where);
    return pipeline;
}

void PipelineLoader::load_table_flow(Table& table, const Json& json, const Nodes& nodes) const {
    const std::string where = "table '" + table.name + "'";
    table.base_next = node_of(member_or_null(json, "base_default_next"), nodes, where);
    table.next_by_action.assign(logic_.actions.size(), table.base_next);
    const Json& next = member(json, "next_tables", where);
    if (next.contains("__HIT__") || next.contains("__MISS__")) {
        table.by_hit = true;
        table.next_hit = node_of(member_or_null(next, "__HIT__"), nodes, where);
        table.next_miss = node_of(member_or_null(next, "__MISS__"), nodes, where);
        return;
    }
    for (const std::uint32_t action : table.actions) {
        const auto found = next.find(logic_.actions[action].name);
        if (found != next.end()) table.next_by_action[action] = node_of(*found, nodes, where);
    }
}

}  // namespace csaud::sw
