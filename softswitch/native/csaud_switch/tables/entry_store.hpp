// Where the entries of a table lie: close together, in few large pieces of memory, and each stays in its
// place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "csaud_switch/base/huge_pages.hpp"
#include "csaud_switch/tables/entry.hpp"

namespace csaud::sw {

class EntryStore {
  public:
    EntryStore() = default;
    ~EntryStore() { clear(); }
    EntryStore(const EntryStore&) = delete;
    EntryStore& operator=(const EntryStore&) = delete;

    Entry* make(Entry&& from) {
        if (free_.empty()) grow();
        Entry* place = free_.back();
        std::construct_at(place, std::move(from));
        free_.pop_back();
        place->position = static_cast<std::uint32_t>(entries_.size());
        entries_.push_back(place);
        return place;
    }

    void erase(Entry* entry) {
        Entry* last = entries_.back();
        entries_[entry->position] = last;
        last->position = entry->position;
        entries_.pop_back();
        std::destroy_at(entry);
        free_.push_back(entry);
    }

    void clear() {
        for (Entry* entry : entries_) std::destroy_at(entry);
        entries_.clear();
        free_.clear();
        for (const auto& [memory, count] : pieces_)
            give_memory(memory, count * sizeof(Entry), alignof(Entry));
        pieces_.clear();
    }

    // In no particular order.
    const std::vector<Entry*>& all() const { return entries_; }

  private:
    static constexpr std::size_t kFirst = 8;
    static constexpr std::size_t kMost = kHugePage / sizeof(Entry);

    void grow() {
        const std::size_t count = pieces_.empty() ? kFirst : std::min(kMost, 2 * pieces_.back().second);
        auto* memory = static_cast<Entry*>(take_memory(count * sizeof(Entry), alignof(Entry)));
        pieces_.emplace_back(memory, count);
        for (std::size_t i = count; i-- > 0;) free_.push_back(memory + i);
    }

    std::vector<Entry*> entries_;
    std::vector<Entry*> free_;
    std::vector<std::pair<Entry*, std::size_t>> pieces_;
};

}  // namespace csaud::sw
