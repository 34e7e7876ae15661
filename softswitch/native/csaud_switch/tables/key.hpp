// Keys of tables as words, and an index from words to things.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "csaud_switch/base/value.hpp"
#include "csaud_switch/program/layout.hpp"

namespace csaud::sw {

enum class MatchKind : std::uint8_t { kExact, kLpm, kTernary, kRange, kOptional };

struct KeyField {
    std::string name;
    MatchKind kind = MatchKind::kExact;
    FieldRef source;
    std::uint32_t word = 0;  // first word in the key
    UWide mask = ~UWide{0};  // what of the field is looked at; p4c writes `f & 0xF0: exact` this way
};

// One field of an entry's key as the control plane gives it: big-endian bytes.
struct MatchField {
    enum class Kind : std::uint8_t { kAny, kExact, kLpm, kTernary, kRange, kOptional };
    Kind kind = Kind::kAny;
    std::vector<std::uint8_t> value;
    std::vector<std::uint8_t> other;  // mask, or upper end of a range
    int prefix = 0;

    bool operator==(const MatchField&) const = default;
};

// Bytes to words and back. parse_value throws InvalidArgument when the number does not fit into the width.
void parse_value(const std::vector<std::uint8_t>& bytes, unsigned width, const std::string& what,
                 std::uint64_t* words);
std::vector<std::uint8_t> format_value(const std::uint64_t* words, unsigned width);

inline std::uint64_t hash_words(const std::uint64_t* words, std::uint32_t count) {
    std::uint64_t h = 0x9E3779B97F4A7C15ULL;
    for (std::uint32_t i = 0; i < count; ++i) {
        h = (h ^ words[i]) * 0xFF51AFD7ED558CCDULL;
        h ^= h >> 32;
    }
    return h;
}

// Open addressing from a key of fixed length to items that hold their key (`item->key`).
template <typename Item>
class WordIndex {
  public:
    explicit WordIndex(std::uint32_t words = 0) : words_(words) { places_.resize(8); }

    Item* find(const std::uint64_t* key) const {
        const std::size_t mask = places_.size() - 1;
        for (std::size_t i = hash_words(key, words_) & mask;; i = (i + 1) & mask) {
            Item* item = places_[i];
            if (item == nullptr || same(item->key.data(), key)) return item;
        }
    }

    void insert(Item* item) {
        if ((count_ + 1) * 2 > places_.size()) rebuild(places_.size() * 2);
        place(item);
        ++count_;
    }

    void erase(const Item* item) {
        for (Item*& p : places_)
            if (p == item) p = nullptr;
        --count_;
        rebuild(places_.size());
    }

    std::size_t size() const { return count_; }

  private:
    bool same(const std::uint64_t* a, const std::uint64_t* b) const {
        for (std::uint32_t i = 0; i < words_; ++i)
            if (a[i] != b[i]) return false;
        return true;
    }

    void place(Item* item) {
        const std::size_t mask = places_.size() - 1;
        std::size_t i = hash_words(item->key.data(), words_) & mask;
        while (places_[i] != nullptr) i = (i + 1) & mask;
        places_[i] = item;
    }

    void rebuild(std::size_t size) {
        std::vector<Item*> old(size);
        old.swap(places_);
        for (Item* item : old)
            if (item != nullptr) place(item);
    }

    std::uint32_t words_;
    std::size_t count_ = 0;
    std::vector<Item*> places_;
};

}  // namespace csaud::sw
