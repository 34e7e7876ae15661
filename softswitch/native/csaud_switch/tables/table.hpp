// Match-action tables.
//
// Three ways to look up, chosen by the table's keys: all exact (one hash lookup), one longest prefix (one
// hash lookup for each prefix length in use, longest first), anything else by priority (a hash lookup on the
// exact keys, then the entries of that bucket from the highest priority down).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "csaud_switch/program/state.hpp"
#include "csaud_switch/tables/action_profile.hpp"
#include "csaud_switch/tables/key.hpp"

namespace csaud::sw {

// What an entry does: an action of its own, or a member or group of the table's profile.
struct Binding {
    enum class Kind : std::uint8_t { kAction, kMember, kGroup };
    Kind kind = Kind::kAction;
    std::uint32_t action = 0;  // in the program
    std::vector<std::uint64_t> parameters;
    Member* member = nullptr;
    Group* group = nullptr;
};

// What hits change in tables with a direct meter or idle timeouts.
struct EntryWatch {
    Meter meter;
    Nanos last_hit = 0;      // or since when the entry, or its timeout, is there
    Nanos idle_timeout = 0;  // 0: never
    bool idle_told = false;  // since the last hit
};

struct Entry {
    std::vector<std::uint64_t> key;   // masked
    std::vector<std::uint64_t> mask;  // or the upper end where the key is a range
    std::vector<MatchField> match;    // as it was given
    int priority = 0;
    std::uint64_t serial = 0;
    int prefix = 0;
    bool constant = false;
    Binding binding;
    Count count;
    std::unique_ptr<EntryWatch> watch;  // of a table that watches hits
};

struct DefaultEntry {
    bool set = false;
    Binding binding;
    Count count;
};

inline constexpr std::uint32_t kEnd = UINT32_MAX;  // no next node
inline constexpr std::uint32_t kMaxKeyWords = 32;

class Table {
  public:
    std::string name;
    std::vector<KeyField> keys;
    std::uint32_t key_words = 0;
    std::uint32_t size = 0;
    std::vector<std::uint32_t> actions;  // in the program
    std::optional<std::uint32_t> profile;
    std::string direct_counter;                 // its name, empty without
    std::optional<std::uint32_t> direct_meter;  // in the program
    FieldRef meter_target;                      // takes the meter's colour
    bool idle_timeout = false;
    bool watches_hits() const { return idle_timeout || direct_meter; }
    bool const_entries = false;
    bool const_default = false;
    DefaultEntry program_default;  // what set_default(nothing) goes back to
    DefaultEntry default_entry;

    // Control flow. With hit/miss the action does not matter.
    bool by_hit = false;
    std::uint32_t next_hit = kEnd;
    std::uint32_t next_miss = kEnd;
    std::vector<std::uint32_t> next_by_action;  // indexed by action of the program
    std::uint32_t base_next = kEnd;

    void prepare();  // once the keys are known
    bool needs_priority() const { return kind_ == Kind::kPriority; }

    Entry* lookup(const std::uint64_t* slots) const;

    // Control plane. insert takes the binding over; the rest throw NotFound for an entry that is not there.
    Entry& insert(const std::vector<MatchField>& match, int priority, Binding binding, bool constant = false);
    Entry& find(const std::vector<MatchField>& match, int priority);
    void erase(const Entry& entry);
    void clear();
    std::vector<const Entry*> entries() const;  // in order of insertion
    std::size_t entry_count() const { return entries_.size(); }
    // Entries that were not hit for as long as their timeout, each once until it is hit again.
    std::vector<const Entry*> take_idle(Nanos now);

  private:
    enum class Kind : std::uint8_t { kExact, kLpm, kPriority };

    struct Bucket {
        std::vector<std::uint64_t> key;
        std::vector<Entry*> entries;  // highest priority first
    };

    struct Prefix {
        int length = 0;
        std::vector<std::uint64_t> mask;
        WordIndex<Entry> index;
    };

    Entry parse(const std::vector<MatchField>& match, int priority) const;
    void parse_field(const KeyField& field, const MatchField& match, Entry& entry) const;
    Entry* find_same(const Entry& wanted) const;
    void index(Entry* entry);
    void unindex(const Entry* entry);
    bool matches(const Entry& entry, const std::uint64_t* key) const;
    std::vector<std::uint64_t> exact_part(const std::uint64_t* key) const;

    Kind kind_ = Kind::kExact;
    struct KeyWord {
        std::uint32_t slot;
        std::uint64_t mask;
    };
    std::vector<KeyWord> sources_;  // of each word of the key
    std::vector<std::uint32_t> exact_words_;
    std::vector<std::uint32_t> other_words_;
    bool has_range_ = false;
    std::uint32_t lpm_key_ = 0;

    std::vector<std::unique_ptr<Entry>> entries_;
    std::uint64_t next_serial_ = 0;
    WordIndex<Entry> exact_;
    std::vector<std::unique_ptr<Prefix>> prefixes_;  // longest first
    std::vector<std::unique_ptr<Bucket>> buckets_;
    WordIndex<Bucket> bucket_index_;
};

}  // namespace csaud::sw
