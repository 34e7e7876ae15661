#include "csaud_switch/program/carry_state.hpp"

#include <algorithm>

#include "csaud_switch/base/error.hpp"

namespace csaud::sw {

namespace {

template <typename Items, typename F>
void for_each_pair(const Items& from, Items& to, F&& carry) {
    for (auto& item : to) {
        const auto found = std::find_if(from.begin(), from.end(),
                                        [&item](const auto& other) { return other.name == item.name; });
        if (found != from.end()) carry(*found, item);
    }
}

void carry_entries(Table& from, Table& to) {
    to.default_entry.count = from.default_entry.count;
    if (from.entry_count() == 0) return;
    for (const Entry* entry : to.entries()) {
        try {
            Entry& made = to.find(entry->match, entry->priority);
            const Entry& before = from.find(entry->match, entry->priority);
            made.count = before.count;
            if (made.watch && before.watch) *made.watch = *before.watch;
        } catch (const NotFound&) {  // it is new
        } catch (const InvalidArgument&) {
            return;  // the keys have changed
        }
    }
}

}  // namespace

void carry_state(Program& from, Program& to, const PortIsUp& is_up) {
    for_each_pair(from.counters, to.counters, [](const CounterArray& a, CounterArray& b) {
        std::copy_n(a.cells.begin(), std::min(a.cells.size(), b.cells.size()), b.cells.begin());
    });
    for_each_pair(from.registers, to.registers, [](const RegisterArray& a, RegisterArray& b) {
        if (a.width == b.width)
            std::copy_n(a.words.begin(), std::min(a.words.size(), b.words.size()), b.words.begin());
    });
    for_each_pair(from.meters, to.meters, [](const MeterArray& a, MeterArray& b) {
        if (a.bytes == b.bytes && a.cells.size() == b.cells.size()) b.cells = a.cells;
    });
    for (const auto& table : to.tables)
        for (const auto& before : from.tables)
            if (before->name == table->name) carry_entries(*before, *table);
    for (const auto& profile : to.profiles)
        for (const auto& before : from.profiles)
            if (before->name == profile->name) profile->keep_slots(*before, is_up);
}

}  // namespace csaud::sw
