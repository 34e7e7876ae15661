// What a control plane does with a switch's tables and action profiles: entries, members and groups by name,
// values as bytes. What else the program keeps has StateControl.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "csaud_switch/fabric/switch.hpp"

namespace csaud::sw {

using Bytes = std::vector<std::uint8_t>;

struct ActionSpec {
    Binding::Kind kind = Binding::Kind::kAction;
    std::string name;               // of an action
    std::vector<Bytes> parameters;  // in order, big-endian
    std::uint32_t id = 0;           // of a member or group
};

struct EntrySpec {
    std::vector<MatchField> match;
    int priority = 0;
    ActionSpec action;
};

struct GroupSpec {
    std::uint32_t id = 0;
    std::vector<GroupMember> members;
    std::uint32_t max_size = 0;
};

class Control {
  public:
    // now: what entries count their age from; tables without idle timeouts do not look at it.
    explicit Control(Switch& target, Nanos now = 0)
        : switch_(target), program_(target.program()), now_(now) {}

    void table_insert(const std::string& table, const EntrySpec& entry);
    void table_modify(const std::string& table, const EntrySpec& entry);
    void table_delete(const std::string& table, const std::vector<MatchField>& match, int priority);
    ActionSpec table_find(const std::string& table, const std::vector<MatchField>& match, int priority) const;
    void table_set_default(const std::string& table, const std::optional<ActionSpec>& action);
    std::optional<ActionSpec> table_get_default(const std::string& table) const;
    std::vector<EntrySpec> table_entries(const std::string& table) const;
    void table_clear(const std::string& table);
    Count& direct_counter(const std::string& table, const std::vector<MatchField>& match, int priority);
    Count& direct_counter_default(const std::string& table);

    void member_insert(const std::string& profile, std::uint32_t id, const ActionSpec& action);
    void member_modify(const std::string& profile, std::uint32_t id, const ActionSpec& action);
    void member_delete(const std::string& profile, std::uint32_t id);
    std::vector<ActionSpec> members(const std::string& profile) const;  // id set
    void group_insert(const std::string& profile, GroupSpec group);
    void group_modify(const std::string& profile, GroupSpec group);
    void group_delete(const std::string& profile, std::uint32_t id);
    std::vector<GroupSpec> groups(const std::string& profile) const;

  private:
    std::uint32_t find_action(const std::vector<std::uint32_t>& among, const std::string& name,
                              const std::string& owner) const;
    std::vector<std::uint64_t> parameters(const Action& action, const std::vector<Bytes>& values) const;
    Binding bind(const Table& table, const ActionSpec& action);
    static void release(const Binding& binding);
    ActionSpec describe(const Binding& binding) const;
    ActionSpec describe(std::uint32_t action, const Words& parameters) const;
    void check_mutable(const Table& table) const;
    void check_direct_counter(const Table& table) const;
    PortIsUp ports() const {
        return [this](PortId id) { return switch_.port_is_up(id); };
    }

    Switch& switch_;
    Program& program_;
    Nanos now_;
};

}  // namespace csaud::sw
