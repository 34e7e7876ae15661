// Match-action tables.
//
// Four ways to look up, chosen by the table's keys: few exact bits, such as a port, or some more of entries
// that lie close together, such as groups that are counted (an array), other exact keys (one hash lookup),
// one longest prefix, anything else by priority; see tuple_space.hpp for these two.
// What a lookup touches lies close together, since a fabric in one process has thousands of tables.
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

// A line of the cache, but for `set`: one that is not has no action.
struct DefaultEntry {
    Binding binding;
    Count count;
    bool set = false;
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
    bool watches_hits() const { return idle_timeout || direct_meter.has_value(); }
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
    // The same table for another switch, with the entries that the program has put into it. No others yet.
    std::unique_ptr<Table> copy() const;

    void prepare();  // once the keys are known
    bool needs_priority() const { return filled_kind_ == Kind::kPriority; }

    // As watches_hits(), where lookups find it.
    bool watched() const { return watched_; }
    Entry* lookup(const std::uint64_t* slots) {
        if (kind_ == Kind::kEmpty) return nullptr;
        if (kind_ != Kind::kDirect) return search(slots);
        std::size_t at = 0;
        for (const KeyWord& word : *sources_) at = at << word.width | slots[word.slot];
        return at < direct_.size() ? direct_[at] : nullptr;
    }

    // Control plane. insert takes the binding over; the rest throw NotFound for an entry that is not there.
    Entry& insert(const std::vector<MatchField>& match, int priority, Binding binding, bool constant = false);
    Entry& find(const std::vector<MatchField>& match, int priority);
    void erase(const Entry& entry);
    void clear();
    std::vector<const Entry*> entries() const;  // in order of insertion
    std::size_t entry_count() const { return entries_.all().size(); }
    // Entries that were not hit for as long as their timeout, each once until it is hit again.
    std::vector<const Entry*> take_idle(Nanos now);
    void restart_ages(Nanos now);  // as if all entries had been hit

  private:
    enum class Kind : std::uint8_t { kEmpty, kDirect, kExact, kLpm, kPriority };
    static constexpr unsigned kDirectBits = 12;  // of all keys together
    static constexpr unsigned kDenseBits = 24;   // of those that may lie close together
    // An array of more places for each entry gives way to a hash index, which takes as many bytes when it has
    // just grown; one of fewer takes the place of a hash index when the entries have doubled. The numbers
    // differ, so that there is no to and fro.
    static constexpr std::size_t kMostPlaces = 8;
    static constexpr std::size_t kFewPlaces = 4;
    static constexpr std::size_t kFewEntries = 16;  // fewer count as so many

    struct KeyWord {
        std::uint32_t slot;
        unsigned width;  // bits
        std::uint64_t mask;
    };
    using KeyWords = std::vector<KeyWord>;

    Kind kind_of(const KeyWords& sources) const;
    static unsigned bits_of(const KeyWords& sources);
    void empty(std::uint32_t first_range);
    Entry* search(const std::uint64_t* slots);
    std::size_t place_of(const Entry& entry) const;
    void index(Entry* entry);
    void put(Entry* entry);
    void change_index(Kind kind, const Entry& added);
    Entry parse(const std::vector<MatchField>& match, int priority) const;
    void parse_field(const KeyField& field, const MatchField& match, Entry& entry) const;
    Entry* find_same(const Entry& wanted) const;

    // What lookups touch, a line of the cache for each way to do so.
    alignas(64) Kind kind_ = Kind::kEmpty;  // without entries; otherwise as filled_kind_
    Kind filled_kind_ = Kind::kExact;
    bool watched_ = false;
    std::shared_ptr<const KeyWords> sources_;  // of each word of the key, ranges last; of all copies
    std::vector<Entry*, HugeAllocator<Entry*>> direct_;  // as far as there are entries

  public:
    alignas(64) DefaultEntry default_entry;

  private:
    alignas(64) WordIndex<Entry> exact_;  // of a larger exact table
    alignas(64) TupleSpace tuples_;       // of any other
    EntryStore entries_;
    std::uint64_t next_serial_ = 0;
    std::uint32_t first_range_ = 0;  // word of the key
    bool may_be_dense_ = false;      // an exact table of kDenseBits at most, but more than kDirectBits
    std::size_t places_ = 0;         // that an array would need, while there have been entries
};

}  // namespace csaud::sw
