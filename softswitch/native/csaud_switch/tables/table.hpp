// Match-action tables.
//
// Three ways to look up, chosen by the table's keys: all exact (one hash lookup), one longest prefix,
// anything else by priority; see tuple_space.hpp for these.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "csaud_switch/tables/entry.hpp"
#include "csaud_switch/tables/entry_store.hpp"
#include "csaud_switch/tables/tuple_space.hpp"
#include "csaud_switch/tables/word_index.hpp"

namespace csaud::sw {

struct DefaultEntry {
    bool set = false;
    Binding binding;
    Count count;
};

inline constexpr std::uint32_t kEnd = UINT32_MAX;  // no next node
inline constexpr std::uint32_t kMaxKeyWords = 32;

// What a program says of a table.
struct TableSpec {
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

    // Control flow. With hit/miss the action does not matter.
    bool by_hit = false;
    std::uint32_t next_hit = kEnd;
    std::uint32_t next_miss = kEnd;
    std::vector<std::uint32_t> next_by_action;  // indexed by action of the program
    std::uint32_t base_next = kEnd;
};

class Table : public TableSpec {
  public:
    DefaultEntry default_entry;

    // The same table for another switch, with the entries that the program has put into it. No others yet.
    std::unique_ptr<Table> copy() const;

    void prepare();  // once the keys are known
    bool needs_priority() const { return kind_ == Kind::kPriority; }

    Entry* lookup(const std::uint64_t* slots);

    // Control plane. insert takes the binding over; the rest throw NotFound for an entry that is not there.
    Entry& insert(const std::vector<MatchField>& match, int priority, Binding binding, bool constant = false);
    Entry& find(const std::vector<MatchField>& match, int priority);
    void erase(const Entry& entry);
    void clear();
    std::vector<const Entry*> entries() const;  // in order of insertion
    std::size_t entry_count() const { return entries_.all().size(); }
    // Entries that were not hit for as long as their timeout, each once until it is hit again.
    std::vector<const Entry*> take_idle(Nanos now);

  private:
    enum class Kind : std::uint8_t { kExact, kLpm, kPriority };

    Entry parse(const std::vector<MatchField>& match, int priority) const;
    void parse_field(const KeyField& field, const MatchField& match, Entry& entry) const;
    Entry* find_same(const Entry& wanted) const;

    Kind kind_ = Kind::kExact;
    struct KeyWord {
        std::uint32_t slot;
        std::uint64_t mask;
    };
    std::vector<KeyWord> sources_;  // of each word of the key, ranges last

    EntryStore entries_;
    std::uint64_t next_serial_ = 0;
    WordIndex<Entry> exact_;  // of an exact table
    TupleSpace tuples_;       // of any other
};

}  // namespace csaud::sw
