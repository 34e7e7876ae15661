// A hash map in one array: linear probing, deletion by shifting back. No allocation but to grow.
// Keys have hash_value(key) (found by argument-dependent lookup) and ==.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace csaud {

template <class Key, class Value>
class FlatMap {
  public:
    explicit FlatMap(std::size_t expected = 16) { slots_.resize(power_of_two(expected * 2)); }

    Value* find(const Key& key) noexcept {
        for (std::size_t i = home(key);; i = next(i)) {
            if (!slots_[i].used) return nullptr;
            if (slots_[i].key == key) return &slots_[i].value;
        }
    }
    const Value* find(const Key& key) const noexcept { return const_cast<FlatMap*>(this)->find(key); }

    // Inserts or overwrites.
    void put(const Key& key, Value value) {
        if ((size_ + 1) * 2 > slots_.size()) grow();
        std::size_t i = home(key);
        while (slots_[i].used && !(slots_[i].key == key)) i = next(i);
        if (!slots_[i].used) ++size_;
        slots_[i] = {key, std::move(value), true};
    }

    bool erase(const Key& key) noexcept {
        std::size_t i = home(key);
        while (slots_[i].used && !(slots_[i].key == key)) i = next(i);
        if (!slots_[i].used) return false;
        --size_;
        // Close the hole: whoever stands behind it and could not stand at home moves up.
        for (std::size_t j = next(i); slots_[j].used; j = next(j)) {
            const std::size_t h = home(slots_[j].key);
            const bool stays = i <= j ? (i < h && h <= j) : (i < h || h <= j);
            if (stays) continue;
            slots_[i] = std::move(slots_[j]);
            i = j;
        }
        slots_[i] = Slot{};
        return true;
    }

    std::size_t size() const noexcept { return size_; }
    std::size_t bytes() const noexcept { return slots_.capacity() * sizeof(Slot); }

  private:
    struct Slot {
        Key key{};
        Value value{};
        bool used = false;
    };

    static std::size_t power_of_two(std::size_t n) noexcept {
        std::size_t p = 16;
        while (p < n) p *= 2;
        return p;
    }
    std::size_t home(const Key& key) const noexcept {
        return static_cast<std::size_t>(hash_value(key)) & (slots_.size() - 1);
    }
    std::size_t next(std::size_t i) const noexcept { return (i + 1) & (slots_.size() - 1); }

    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        size_ = 0;
        for (Slot& s : old) {
            if (s.used) put(s.key, std::move(s.value));
        }
    }

    std::vector<Slot> slots_;
    std::size_t size_ = 0;
};

}  // namespace csaud
