#include "csaud_switch/tables/action_profile.hpp"

#include <algorithm>

#include "csaud_switch/base/error.hpp"

namespace csaud::sw {

namespace {

std::string of(const std::string& profile) {
    return " of action profile '" + profile + "'";
}

}  // namespace

std::uint32_t ActionProfile::take_handle() {
    if (free_handles_.empty()) return next_handle_++;
    const std::uint32_t handle = *free_handles_.begin();
    free_handles_.erase(free_handles_.begin());
    return handle;
}

void ActionProfile::insert_member(std::uint32_t id, std::uint32_t action,
                                  std::vector<std::uint64_t> parameters) {
    if (members_.contains(id))
        throw AlreadyExists("member " + std::to_string(id) + of(name) + " already exists");
    if (members_.size() >= size)
        throw ResourceExhausted("action profile '" + name + "' holds " + std::to_string(size) +
                                " members at most");
    auto member = std::make_unique<Member>();
    member->id = id;
    member->action = action;
    member->parameters = std::move(parameters);
    member->handles.push_back(take_handle());
    members_.emplace(id, std::move(member));
}

void ActionProfile::modify_member(std::uint32_t id, std::uint32_t action,
                                  std::vector<std::uint64_t> parameters) {
    Member& found = member(id);
    found.action = action;
    found.parameters = std::move(parameters);
}

void ActionProfile::delete_member(std::uint32_t id) {
    const Member& found = member(id);
    if (found.users > 0)
        throw FailedPrecondition("member " + std::to_string(id) + of(name) + " is in use by " +
                                 std::to_string(found.users) + " groups or entries");
    free_handles_.insert(found.handles.begin(), found.handles.end());
    members_.erase(id);
}

Member& ActionProfile::member(std::uint32_t id) {
    const auto found = members_.find(id);
    if (found == members_.end()) throw NotFound("no member " + std::to_string(id) + of(name));
    return *found->second;
}

Group& ActionProfile::group(std::uint32_t id) {
    const auto found = groups_.find(id);
    if (found == groups_.end()) throw NotFound("no group " + std::to_string(id) + of(name));
    return *found->second;
}

void ActionProfile::check(const std::vector<GroupMember>& given, std::uint32_t max_size) const {
    if (!selector) throw InvalidArgument("action profile '" + name + "' has no selector, so no groups");
    std::set<std::uint32_t> seen;
    std::uint64_t total = 0;
    for (const GroupMember& m : given) {
        if (!members_.contains(m.member)) throw NotFound("no member " + std::to_string(m.member) + of(name));
        if (!seen.insert(m.member).second)
            throw InvalidArgument("member " + std::to_string(m.member) + of(name) +
                                  " twice in one group: give it a weight");
        if (m.weight == 0)
            throw InvalidArgument("member " + std::to_string(m.member) + of(name) + " with weight 0");
        total += m.weight;
    }
    if (max_size > 0 && total > max_size)
        throw ResourceExhausted("weights of the group" + of(name) + " add up to " + std::to_string(total) +
                                ", its max_size is " + std::to_string(max_size));
    if (total > size)
        throw ResourceExhausted("weights of the group" + of(name) + " add up to " + std::to_string(total) +
                                ", the profile holds " + std::to_string(size));
}

void ActionProfile::attach(Group& group, const PortIsUp& is_up) {
    std::vector<GroupMember> by_id = group.given;
    std::sort(by_id.begin(), by_id.end(),
              [](const GroupMember& a, const GroupMember& b) { return a.member < b.member; });
    for (const GroupMember& m : by_id) {
        Member& found = member(m.member);
        while (found.handles.size() < m.weight) found.handles.push_back(take_handle());
        ++found.weights[m.weight];
        ++found.users;
    }
    make_slots(group, is_up);
}

void ActionProfile::make_slots(Group& group, const PortIsUp& is_up) {
    group.slots.clear();
    for (const GroupMember& m : group.given) {
        const Member& found = member(m.member);
        for (std::uint32_t i = 0; i < m.weight; ++i)
            group.slots.push_back({found.handles[i], &found, m.watch_port});
    }
    std::sort(group.slots.begin(), group.slots.end(),
              [](const Group::Slot& a, const Group::Slot& b) { return a.handle < b.handle; });
    refresh(group, is_up);
}

void ActionProfile::detach(Group& group) {
    for (const GroupMember& m : group.given) {
        Member& found = member(m.member);
        if (--found.weights[m.weight] == 0) found.weights.erase(m.weight);
        --found.users;
    }
}

// Gives back the handles beyond the greatest weight that is still in use.
void ActionProfile::purge(Member& member) {
    const std::uint32_t most = member.weights.empty() ? 1 : member.weights.rbegin()->first;
    while (member.handles.size() > most) {
        free_handles_.insert(member.handles.back());
        member.handles.pop_back();
    }
}

void ActionProfile::refresh(Group& group, const PortIsUp& is_up) {
    group.live.clear();
    for (const Group::Slot& slot : group.slots)
        if (!slot.watch_port || is_up(*slot.watch_port)) group.live.push_back(slot.member);
}

void ActionProfile::insert_group(std::uint32_t id, std::vector<GroupMember> given, std::uint32_t max_size,
                                 const PortIsUp& is_up) {
    if (groups_.contains(id))
        throw AlreadyExists("group " + std::to_string(id) + of(name) + " already exists");
    check(given, max_size);
    auto group = std::make_unique<Group>();
    group->selector = selector.get();
    group->id = id;
    group->max_size = max_size;
    group->given = std::move(given);
    attach(*group, is_up);
    groups_.emplace(id, std::move(group));
}

void ActionProfile::modify_group(std::uint32_t id, std::vector<GroupMember> given, std::uint32_t max_size,
                                 const PortIsUp& is_up) {
    Group& found = group(id);
    check(given, max_size);
    const std::vector<GroupMember> before = found.given;
    detach(found);
    found.given = std::move(given);
    found.max_size = max_size;
    attach(found, is_up);
    for (const GroupMember& m : before) purge(member(m.member));
}

void ActionProfile::delete_group(std::uint32_t id) {
    Group& found = group(id);
    if (found.users > 0)
        throw FailedPrecondition("group " + std::to_string(id) + of(name) + " is in use by " +
                                 std::to_string(found.users) + " entries");
    detach(found);
    const std::vector<GroupMember> before = found.given;
    groups_.erase(id);
    for (const GroupMember& m : before) purge(member(m.member));
}

void ActionProfile::keep_slots(const ActionProfile& before, const PortIsUp& is_up) {
    if (members_.size() != before.members_.size()) return;
    for (const auto& [id, member] : members_) {
        const auto found = before.members_.find(id);
        if (found == before.members_.end() || found->second->handles.size() != member->handles.size()) return;
    }
    for (const auto& [id, member] : members_) member->handles = before.members_.at(id)->handles;
    free_handles_ = before.free_handles_;
    next_handle_ = before.next_handle_;
    for (const auto& [id, group] : groups_) make_slots(*group, is_up);
}

void ActionProfile::port_changed(PortId port, const PortIsUp& is_up) {
    for (const auto& [id, group] : groups_) {
        const bool watches = std::any_of(group->slots.begin(), group->slots.end(),
                                         [port](const Group::Slot& slot) { return slot.watch_port == port; });
        if (watches) refresh(*group, is_up);
    }
}

}  // namespace csaud::sw
