// A hash map from the keys that records carry to the records' indices: four bytes an entry, no copy of the
// key. Linear probing, deletion by shifting back; no allocation but to grow. `KeyOf` gives the
// key of an index: key_of(index) -> Key, with hash_value(key) and ==.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "csaud_host/base/pool.hpp"

namespace csaud {

template <class KeyOf>
class IndexMap {
  public:
    // `load`: percent of the slots that may be in use, below 100.
    explicit IndexMap(KeyOf key_of, std::size_t expected = 8, unsigned load = 50)
        : key_of_(std::move(key_of)), load_(load) {
        std::size_t size = 16;
        while (size * load < expected * 100) size *= 2;
        slots_.resize(size, kNone);
    }

    // The index whose record has this key; kNone: none has.
    template <class Key>
    std::uint32_t find(const Key& key) const noexcept {
        for (std::size_t i = home(key);; i = next(i)) {
            if (slots_[i] == kNone || key_of_(slots_[i]) == key) return slots_[i];
        }
    }

    // Adds an index whose record has its key; no other one has the same.
    void add(std::uint32_t index) {
        if ((size_ + 1) * 100 > slots_.size() * load_) grow();
        place(index);
        ++size_;
    }

    // While the record still has its key.
    void erase(std::uint32_t index) noexcept {
        std::size_t i = home(key_of_(index));
        while (slots_[i] != index) {
            if (slots_[i] == kNone) return;
            i = next(i);
        }
        --size_;
        // Close the hole: whoever stands behind it and could not stand at home moves up.
        for (std::size_t j = next(i); slots_[j] != kNone; j = next(j)) {
            const std::size_t h = home(key_of_(slots_[j]));
            const bool stays = i <= j ? (i < h && h <= j) : (i < h || h <= j);
            if (stays) continue;
            slots_[i] = slots_[j];
            i = j;
        }
        slots_[i] = kNone;
    }

    std::size_t size() const noexcept { return size_; }
    std::size_t bytes() const noexcept { return slots_.capacity() * sizeof(std::uint32_t); }

  private:
    template <class Key>
    std::size_t home(const Key& key) const noexcept {
        return static_cast<std::size_t>(hash_value(key)) & (slots_.size() - 1);
    }
    std::size_t next(std::size_t i) const noexcept { return (i + 1) & (slots_.size() - 1); }

    void place(std::uint32_t index) noexcept {
        std::size_t i = home(key_of_(index));
        while (slots_[i] != kNone) i = next(i);
        slots_[i] = index;
    }

    void grow() {
        std::vector<std::uint32_t> old(slots_.size() * 2, kNone);
        old.swap(slots_);
        for (const std::uint32_t index : old) {
            if (index != kNone) place(index);
        }
    }

    KeyOf key_of_;
    unsigned load_;
    std::vector<std::uint32_t> slots_;
    std::size_t size_ = 0;
};

}  // namespace csaud
