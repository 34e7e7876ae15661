// Lookup among entries with masks.
//
// Entries with the same masks are a tuple: one hash lookup finds those that match. Tuples are tried from the
// greatest rank (priority or length of the prefix) down, until what was found outranks the rest; a filter
// rules most tuples out without a look at their entries. Where there are many tuples, what was found for a
// key is kept until an entry comes or goes, because packets of a flow have the same key.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "csaud_switch/tables/entry.hpp"
#include "csaud_switch/tables/word_index.hpp"

namespace csaud::sw {

class TupleSpace {
  public:
    // widths: bits of each word of a key; those from first_range on are ranges, with the upper ends in the
    // place of masks.
    TupleSpace(std::vector<std::uint8_t> widths = {}, std::uint32_t first_range = 0);

    Entry* lookup(const std::uint64_t* key) {
        return tuples_.size() < kRememberFrom || words_ > kRememberedWords ? search(key) : recall(key);
    }

    // The entry with the same key, masks and rank.
    Entry* find_same(const Entry& wanted) const;
    void insert(Entry* entry);
    void erase(Entry* entry);
    void clear();

  private:
    struct alignas(64) Tuple {
        Words key;    // the masks
        int top = 0;  // the greatest rank
        bool placed = false;
        WordIndex<Entry> index;
        std::map<int, std::uint32_t> ranks;  // and how many entries have each
    };

    static constexpr std::size_t kRememberFrom = 8;  // tuples
    static constexpr std::uint32_t kRememberedWords = 6;
    // Places grow while keys drive each other out.
    static constexpr std::size_t kRememberedFirst = 1 << 7;
    static constexpr std::size_t kRemembered = 1 << 15;

    // What was found for a key, be it nothing; good while the version is the present one.
    struct alignas(64) Remembered {
        std::uint64_t version = 0;
        Entry* entry = nullptr;
        std::array<std::uint64_t, kRememberedWords> key{};
    };

    Entry* search(const std::uint64_t* key) const;
    Entry* recall(const std::uint64_t* key);
    Tuple* tuple_of(const Entry& entry) const;
    Tuple& make_tuple(const Entry& entry);
    Words masks_of(const Entry& entry) const;
    bool in_ranges(const Entry& entry, const std::uint64_t* key) const;
    void move(Tuple& tuple);

    std::vector<std::unique_ptr<Tuple>> tuples_;  // the greatest rank first
    std::vector<std::uint8_t> widths_;
    std::uint32_t words_;
    std::uint32_t first_range_;
    std::uint64_t version_ = 1;  // one more with each change
    std::vector<Remembered, HugeAllocator<Remembered>> remembered_;
    std::size_t driven_out_ = 0;  // keys, since it has this many places
    WordIndex<Tuple> by_mask_;
};

}  // namespace csaud::sw
