// Action profiles: members that entries of several tables share, and groups of members with a selector.
//
// The order of the members within a group decides which one a hash selects, so it is the reference target's:
// each member owns handles (one for each unit of its greatest weight in any group), a new handle is the
// smallest free one, and the slots of a group are ordered by handle. Slots whose watch port is down are left
// out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "csaud_switch/base/value.hpp"
#include "csaud_switch/model/calculation.hpp"
#include "csaud_switch/tables/words.hpp"

namespace csaud::sw {

struct Member {
    std::uint32_t id = 0;
    std::uint32_t action = 0;  // in the program
    Words parameters;
    std::vector<std::uint32_t> handles;
    std::map<std::uint32_t, std::uint32_t> weights;  // weight -> groups that use it
    std::uint32_t users = 0;                         // entries and groups
};

struct GroupMember {
    std::uint32_t member = 0;
    std::uint32_t weight = 1;
    std::optional<PortId> watch_port;
};

struct Group {
    std::vector<const Member*> live;
    const Calculation* selector = nullptr;  // of the profile
    std::uint32_t id = 0;
    std::uint32_t max_size = 0;
    std::uint32_t users = 0;
    std::vector<GroupMember> given;
    struct Slot {
        std::uint32_t handle;
        const Member* member;
        std::optional<PortId> watch_port;
    };
    std::vector<Slot> slots;

    // The member that this packet's hash selects, nullptr when none is live.
    const Member* select(const Packet& packet) const {
        return live.empty() ? nullptr : live[selector->compute(packet) % live.size()];
    }
};

using PortIsUp = std::function<bool(PortId)>;

// What a program says of an action profile.
struct ActionProfileSpec {
    std::string name;
    std::uint32_t size = 0;
    std::shared_ptr<const Calculation> selector;  // of all copies; none: no groups
    std::vector<std::uint32_t> actions;           // of the tables that use it, in the program
    std::vector<std::string> tables;
};

class ActionProfile : public ActionProfileSpec {
  public:
    // The same profile for another switch; of one without members.
    std::unique_ptr<ActionProfile> copy() const {
        auto made = std::make_unique<ActionProfile>();
        static_cast<ActionProfileSpec&>(*made) = *this;
        return made;
    }

    void insert_member(std::uint32_t id, std::uint32_t action, std::vector<std::uint64_t> parameters);
    void modify_member(std::uint32_t id, std::uint32_t action, std::vector<std::uint64_t> parameters);
    void delete_member(std::uint32_t id);
    Member& member(std::uint32_t id);
    const std::map<std::uint32_t, std::unique_ptr<Member>>& members() const { return members_; }

    void insert_group(std::uint32_t id, std::vector<GroupMember> given, std::uint32_t max_size,
                      const PortIsUp& is_up);
    void modify_group(std::uint32_t id, std::vector<GroupMember> given, std::uint32_t max_size,
                      const PortIsUp& is_up);
    void delete_group(std::uint32_t id);
    Group& group(std::uint32_t id);
    const std::map<std::uint32_t, std::unique_ptr<Group>>& groups() const { return groups_; }

    // Members keep the handles, and groups the slots, that they had in a profile with the same members.
    void keep_slots(const ActionProfile& before, const PortIsUp& is_up);

    // A port went up or down.
    void port_changed(PortId port, const PortIsUp& is_up);

  private:
    void check(const std::vector<GroupMember>& given, std::uint32_t max_size) const;
    void attach(Group& group, const PortIsUp& is_up);
    void detach(Group& group);
    void make_slots(Group& group, const PortIsUp& is_up);
    void purge(Member& member);
    std::uint32_t take_handle();
    static void refresh(Group& group, const PortIsUp& is_up);

    std::map<std::uint32_t, std::unique_ptr<Member>> members_;
    std::map<std::uint32_t, std::unique_ptr<Group>> groups_;
    std::set<std::uint32_t> free_handles_;
    std::uint32_t next_handle_ = 0;
};

}  // namespace csaud::sw
