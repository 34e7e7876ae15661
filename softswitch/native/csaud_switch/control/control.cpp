#include "csaud_switch/control/control.hpp"

#include "csaud_switch/base/error.hpp"

namespace csaud::sw {

std::uint32_t Control::find_action(const std::vector<std::uint32_t>& among, const std::string& name,
                                   const std::string& owner) const {
    for (const std::uint32_t action : among)
        if (program_.logic->actions[action].name == name) return action;
    throw UnknownName(owner + " has no action '" + name + "'");
}

std::vector<std::uint64_t> Control::parameters(const Action& action, const std::vector<Bytes>& values) const {
    if (values.size() != action.parameters.size())
        throw InvalidArgument("action '" + action.name + "': " + std::to_string(values.size()) +
                              " parameters, expected " + std::to_string(action.parameters.size()));
    std::vector<std::uint64_t> words(action.words);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const ActionParameter& parameter = action.parameters[i];
        parse_value(values[i], parameter.width,
                    "action '" + action.name + "', parameter '" + parameter.name + "'",
                    &words[parameter.word]);
    }
    return words;
}

Binding Control::bind(const Table& table, const ActionSpec& action) {
    Binding binding;
    binding.kind = action.kind;
    if (action.kind == Binding::Kind::kAction) {
        if (table.profile)
            throw InvalidArgument("table '" + table.name + "' takes members and groups of action profile '" +
                                  program_.profiles[*table.profile]->name + "', not actions");
        binding.action = find_action(table.actions, action.name, "table '" + table.name + "'");
        binding.parameters = parameters(program_.logic->actions[binding.action], action.parameters);
        return binding;
    }
    if (!table.profile) throw InvalidArgument("table '" + table.name + "' has no action profile");
    ActionProfile& profile = *program_.profiles[*table.profile];
    if (action.kind == Binding::Kind::kMember) {
        binding.member = &profile.member(action.id);
        ++binding.member->users;
    } else {
        binding.group = &profile.group(action.id);
        ++binding.group->users;
    }
    return binding;
}

void Control::release(const Binding& binding) {
    if (binding.kind == Binding::Kind::kMember) --binding.member->users;
    if (binding.kind == Binding::Kind::kGroup) --binding.group->users;
}

ActionSpec Control::describe(std::uint32_t index, const Words& words) const {
    const Action& action = program_.logic->actions[index];
    ActionSpec spec;
    spec.name = action.name;
    for (const ActionParameter& parameter : action.parameters)
        spec.parameters.push_back(format_value(&words[parameter.word], parameter.width));
    return spec;
}

ActionSpec Control::describe(const Binding& binding) const {
    if (binding.kind == Binding::Kind::kAction) return describe(binding.action, binding.parameters);
    ActionSpec spec;
    spec.kind = binding.kind;
    spec.id = binding.kind == Binding::Kind::kMember ? binding.member->id : binding.group->id;
    return spec;
}

void Control::check_mutable(const Table& table) const {
    if (table.const_entries)
        throw FailedPrecondition("entries of table '" + table.name + "' are fixed by the program");
}

void Control::check_direct_counter(const Table& table) const {
    if (table.direct_counter.empty())
        throw InvalidArgument("table '" + table.name + "' has no direct counter");
}

void Control::table_insert(const std::string& name, const EntrySpec& spec) {
    Table& table = program_.table(name);
    check_mutable(table);
    Binding binding = bind(table, spec.action);
    const Binding undo = binding;
    try {
        const Entry& entry = table.insert(spec.match, spec.priority, std::move(binding));
        if (entry.watch) entry.watch->last_hit = now_;
    } catch (...) {
        release(undo);
        throw;
    }
}

void Control::table_modify(const std::string& name, const EntrySpec& spec) {
    Table& table = program_.table(name);
    check_mutable(table);
    Entry& entry = table.find(spec.match, spec.priority);
    Binding binding = bind(table, spec.action);
    release(entry.binding);
    entry.binding = std::move(binding);
    if (entry.watch) {
        entry.watch->last_hit = now_;
        entry.watch->idle_told = false;
    }
}

void Control::table_delete(const std::string& name, const std::vector<MatchField>& match, int priority) {
    Table& table = program_.table(name);
    check_mutable(table);
    const Entry& entry = table.find(match, priority);
    release(entry.binding);
    table.erase(entry);
}

ActionSpec Control::table_find(const std::string& name, const std::vector<MatchField>& match,
                               int priority) const {
    return describe(program_.table(name).find(match, priority).binding);
}

void Control::table_set_default(const std::string& name, const std::optional<ActionSpec>& action) {
    Table& table = program_.table(name);
    if (table.const_default)
        throw FailedPrecondition("default action of table '" + name + "' is fixed by the program");
    DefaultEntry entry = table.program_default;
    entry.count = table.default_entry.count;  // as a modified entry keeps its own
    if (action) {
        entry.set = true;
        entry.binding = bind(table, *action);
    }
    if (table.default_entry.set) release(table.default_entry.binding);
    table.default_entry = std::move(entry);
}

std::optional<ActionSpec> Control::table_get_default(const std::string& name) const {
    const Table& table = program_.table(name);
    if (!table.default_entry.set) return std::nullopt;
    return describe(table.default_entry.binding);
}

std::vector<EntrySpec> Control::table_entries(const std::string& name) const {
    std::vector<EntrySpec> all;
    for (const Entry* entry : program_.table(name).entries())
        all.push_back({entry->match, entry->priority, describe(entry->binding)});
    return all;
}

void Control::table_clear(const std::string& name) {
    Table& table = program_.table(name);
    check_mutable(table);
    for (const Entry* entry : table.entries()) release(entry->binding);
    table.clear();
}

Count& Control::direct_counter(const std::string& name, const std::vector<MatchField>& match, int priority) {
    Table& table = program_.table(name);
    check_direct_counter(table);
    return table.find(match, priority).count;
}

Count& Control::direct_counter_default(const std::string& name) {
    Table& table = program_.table(name);
    check_direct_counter(table);
    return table.default_entry.count;
}

void Control::member_insert(const std::string& name, std::uint32_t id, const ActionSpec& action) {
    ActionProfile& profile = program_.profile(name);
    const std::uint32_t index = find_action(profile.actions, action.name, "action profile '" + name + "'");
    profile.insert_member(id, index, parameters(program_.logic->actions[index], action.parameters));
}

void Control::member_modify(const std::string& name, std::uint32_t id, const ActionSpec& action) {
    ActionProfile& profile = program_.profile(name);
    const std::uint32_t index = find_action(profile.actions, action.name, "action profile '" + name + "'");
    profile.modify_member(id, index, parameters(program_.logic->actions[index], action.parameters));
}

void Control::member_delete(const std::string& name, std::uint32_t id) {
    program_.profile(name).delete_member(id);
}

std::vector<ActionSpec> Control::members(const std::string& name) const {
    std::vector<ActionSpec> all;
    for (const auto& [id, member] : program_.profile(name).members()) {
        all.push_back(describe(member->action, member->parameters));
        all.back().id = id;
    }
    return all;
}

void Control::group_insert(const std::string& name, GroupSpec group) {
    program_.profile(name).insert_group(group.id, std::move(group.members), group.max_size, ports());
}

void Control::group_modify(const std::string& name, GroupSpec group) {
    program_.profile(name).modify_group(group.id, std::move(group.members), group.max_size, ports());
}

void Control::group_delete(const std::string& name, std::uint32_t id) {
    program_.profile(name).delete_group(id);
}

std::vector<GroupSpec> Control::groups(const std::string& name) const {
    std::vector<GroupSpec> all;
    for (const auto& [id, group] : program_.profile(name).groups())
        all.push_back({id, group->given, group->max_size});
    return all;
}

}  // namespace csaud::sw
