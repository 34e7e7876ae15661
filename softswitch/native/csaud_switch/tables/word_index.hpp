// An index from keys of a fixed number of words to things that hold their key (`item->key`).
//
// A key may be longer than what is indexed: the words that count are given. Looking up may mask them.
//
// Open addressing; each place holds the key's hash beside the item, so that memory beyond the index is read
// only for the item that is found; and not for a key of 64 bits or less, whose hash no other key has. A
// filter of some bits a place, small enough to stay in the cache, tells most keys that are not there.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "csaud_switch/base/huge_pages.hpp"

namespace csaud::sw {

template <typename Item>
class WordIndex {
  public:
    static constexpr std::size_t kMaxWords = 32;

    // words: which words of a key count, kMaxWords at most. widths: bits of each word of a key.
    explicit WordIndex(const std::vector<std::uint32_t>& words = {},
                       const std::vector<std::uint8_t>& widths = {}) {
        unsigned bits = 0;
        for (const std::uint32_t word : words) {
            words_[word_count_++] = {static_cast<std::uint8_t>(word), static_cast<std::uint8_t>(bits % 64)};
            bits += widths[word];
        }
        packed_ = bits <= 64;
        rebuild(kSmallest);
    }

    std::uint64_t hash(const std::uint64_t* key) const {
        return hash_of([&](std::uint32_t word) { return key[word]; });
    }
    // Of the masked key.
    std::uint64_t hash(const std::uint64_t* key, const std::uint64_t* mask) const {
        return hash_of([&](std::uint32_t word) { return key[word] & mask[word]; });
    }

    Item* find(const std::uint64_t* key) const {
        return search(hash(key), [&](std::uint32_t word) { return key[word]; });
    }
    // By the masked key, whose hash is given.
    Item* find(const std::uint64_t* key, const std::uint64_t* mask, std::uint64_t hash) const {
        return search(hash, [&](std::uint32_t word) { return key[word] & mask[word]; });
    }

    // False when no item has a key of this hash; true says nothing.
    bool may_have(std::uint64_t hash) const {
        if (places_.size() <= kUnfiltered) return true;
        const std::size_t bit = hash >> filter_shift_;
        return (filter_[bit / 64] >> (bit % 64) & 1U) != 0;
    }

    // The key is not there yet.
    void insert(Item* item) {
        if ((count_ + 1) * 2 > places_.size()) rebuild(places_.size() * 2);
        place({hash(item->key.data()), item});
        ++count_;
    }

    // Another item with the same key takes the place of one.
    void replace(const Item* old, Item* item) { places_[position(old)].item = item; }

    // Items behind the gap move up, so that nothing marks what was erased. Its bits of the filter stay.
    void erase(const Item* item) {
        const std::size_t mask = places_.size() - 1;
        std::size_t gap = position(item);
        for (std::size_t i = (gap + 1) & mask; places_[i].item != nullptr; i = (i + 1) & mask) {
            const std::size_t home = places_[i].hash & mask;
            if (((i - home) & mask) < ((i - gap) & mask)) continue;
            places_[gap] = places_[i];
            gap = i;
        }
        places_[gap] = {};
        --count_;
        if (count_ == 0) rebuild(kSmallest);
    }

    void clear() {
        places_ = {};
        count_ = 0;
        rebuild(kSmallest);
    }

    std::size_t size() const { return count_; }

  private:
    static constexpr std::size_t kSmallest = 8;
    static constexpr std::size_t kUnfiltered = 64;  // places that are as close as a filter would be
    static constexpr std::size_t kFilterBits = 8;   // a place
    static constexpr std::uint64_t kSeed = 0x9E3779B97F4A7C15ULL;

    struct Word {
        std::uint8_t at = 0;     // in the key
        std::uint8_t shift = 0;  // among all of them, packed
    };

    struct Place {
        std::uint64_t hash = 0;
        Item* item = nullptr;
    };

    // An odd number for each word, so that the products can be made side by side.
    static std::uint64_t factor(std::uint32_t i) { return 0xFF51AFD7ED558CCDULL + i * 0x3C79AC492BA7B654ULL; }

    static std::uint64_t mix(std::uint64_t h) {
        h ^= h >> 32;
        h *= 0xC4CEB9FE1A85EC53ULL;
        return h ^ (h >> 29);
    }

    template <typename KeyWord>
    std::uint64_t hash_of(const KeyWord& key_word) const {
        std::uint64_t h = 0;
        if (packed_) {
            for (std::uint32_t i = 0; i < word_count_; ++i) h |= key_word(words_[i].at) << words_[i].shift;
            h *= factor(0);
        } else {
            for (std::uint32_t i = 0; i < word_count_; ++i) h += key_word(words_[i].at) * factor(i);
        }
        return mix(h + kSeed);
    }

    template <typename KeyWord>
    Item* search(std::uint64_t hash, const KeyWord& key_word) const {
        const std::size_t mask = places_.size() - 1;
        for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
            const Place& place = places_[i];
            if (place.item == nullptr) return nullptr;
            if (place.hash != hash) continue;
            // The hash of 64 bits is that of no others: each of its steps can be undone.
            if (packed_) return place.item;
            const std::uint64_t* key = place.item->key.data();
            bool same = true;
            for (std::uint32_t w = 0; w < word_count_; ++w)
                same &= key[words_[w].at] == key_word(words_[w].at);
            if (same) return place.item;
        }
    }

    std::size_t position(const Item* item) const {
        const std::size_t mask = places_.size() - 1;
        std::size_t i = hash(item->key.data()) & mask;
        while (places_[i].item != item) i = (i + 1) & mask;
        return i;
    }

    void place(const Place& taken) {
        const std::size_t mask = places_.size() - 1;
        std::size_t i = taken.hash & mask;
        while (places_[i].item != nullptr) i = (i + 1) & mask;
        places_[i] = taken;
        const std::size_t bit = taken.hash >> filter_shift_;
        filter_[bit / 64] |= std::uint64_t{1} << (bit % 64);
    }

    void rebuild(std::size_t size) {
        std::vector<Place, HugeAllocator<Place>> old(size);
        old.swap(places_);
        const std::size_t bits = size * kFilterBits;
        filter_.assign(bits / 64, 0);
        filter_shift_ = 64 - static_cast<unsigned>(std::countr_zero(bits));
        for (const Place& taken : old)
            if (taken.item != nullptr) place(taken);
    }

    std::vector<Place, HugeAllocator<Place>> places_;
    std::uint32_t word_count_ = 0;
    unsigned filter_shift_ = 0;  // the filter goes by the high bits of a hash, the places by the low ones
    bool packed_ = false;        // the key's words fit into one, each at its shift
    std::array<Word, kMaxWords> words_{};
    std::vector<std::uint64_t> filter_;
    std::size_t count_ = 0;
};

}  // namespace csaud::sw
