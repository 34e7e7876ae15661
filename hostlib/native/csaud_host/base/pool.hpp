// Objects at stable addresses, reused instead of freed. A handle outlives its object harmlessly: it then
// finds none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace csaud {

inline constexpr std::uint32_t kNone = UINT32_MAX;

struct Handle {
    std::uint32_t index = kNone;
    std::uint32_t generation = 0;
};

template <class T>
class Pool {
  public:
    // The object as its last user left it; the caller resets it.
    std::uint32_t take() {
        if (free_.empty()) grow();
        const std::uint32_t i = free_.back();
        free_.pop_back();
        ++in_use_;
        return i;
    }

    void release(std::uint32_t i) {
        ++generations_[i];
        free_.push_back(i);
        --in_use_;
    }

    T& operator[](std::uint32_t i) noexcept { return chunks_[i / kChunk][i % kChunk]; }
    const T& operator[](std::uint32_t i) const noexcept { return chunks_[i / kChunk][i % kChunk]; }

    Handle handle(std::uint32_t i) const noexcept { return {i, generations_[i]}; }
    T* find(Handle h) noexcept {
        return h.index < generations_.size() && generations_[h.index] == h.generation ? &(*this)[h.index]
                                                                                      : nullptr;
    }

    std::size_t in_use() const noexcept { return in_use_; }
    // Of the objects, and of what tells them from old ones.
    std::size_t bytes() const noexcept {
        return chunks_.size() * kChunk * sizeof(T) +
               (generations_.capacity() + free_.capacity()) * sizeof(std::uint32_t);
    }
    std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(generations_.size()); }

  private:
    static constexpr std::size_t kChunk = 64;

    void grow() {
        const auto first = static_cast<std::uint32_t>(generations_.size());
        chunks_.push_back(std::make_unique<T[]>(kChunk));
        generations_.resize(generations_.size() + kChunk, 0);
        free_.reserve(generations_.size());
        for (std::uint32_t i = first + kChunk; i-- > first;) free_.push_back(i);
    }

    std::vector<std::unique_ptr<T[]>> chunks_;
    std::vector<std::uint32_t> generations_;
    std::vector<std::uint32_t> free_;
    std::size_t in_use_ = 0;
};

}  // namespace csaud
