// An entry of a table, laid out so that what a lookup touches comes first.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "csaud_switch/model/state.hpp"
#include "csaud_switch/tables/action_profile.hpp"
#include "csaud_switch/tables/key.hpp"
#include "csaud_switch/tables/words.hpp"

namespace csaud::sw {

// What an entry does: an action of its own, or a member or group of the table's profile.
struct Binding {
    enum class Kind : std::uint8_t { kAction, kMember, kGroup };
    Words parameters;
    union {  // as `kind` says
        Member* member = nullptr;
        Group* group;
    };
    std::uint32_t action = UINT32_MAX;  // in the program; kEnd: none
    Kind kind = Kind::kAction;
};

// What hits change in tables with a direct meter or idle timeouts.
struct EntryWatch {
    Meter meter;
    Nanos last_hit = 0;      // or since when the entry, or its timeout, is there
    Nanos idle_timeout = 0;  // 0: never
    bool idle_told = false;  // since the last hit
};

struct alignas(64) Entry {
    // A line of the cache, all that a table needs that finds entries without comparing keys.
    Binding binding;
    Count count;

    Words key;              // masked
    Entry* next = nullptr;  // of those with the same masks and key: by falling rank, then by serial number
    int rank = 0;           // the priority, or the length of the prefix: the greater one wins
    int priority = 0;
    std::uint64_t serial = 0;           // in order of insertion
    std::unique_ptr<EntryWatch> watch;  // of a table that watches hits

    Words mask;                     // or the upper end where the key is a range
    std::vector<MatchField> match;  // as it was given
    std::uint32_t position = 0;     // among the table's entries
    bool constant = false;

    bool precedes(const Entry& other) const {
        return rank != other.rank ? rank > other.rank : serial < other.serial;
    }
};
// An odd number of lines: the first ones of entries in a row, which lookups touch, are then in all sets of a
// cache. Four lines apart they would have a fourth of it to themselves.
static_assert(sizeof(Entry) == 3 * 64);

}  // namespace csaud::sw
