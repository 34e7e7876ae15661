// A short array of words that lies within its owner, so that a lookup that has found the owner has found the
// words too.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace csaud::sw {

class Words {
  public:
    static constexpr std::uint32_t kInside = 3;

    Words() = default;
    explicit Words(std::uint32_t size) { resize(size); }
    Words(const std::vector<std::uint64_t>& from) {  // NOLINT: a list of words is one
        resize(static_cast<std::uint32_t>(from.size()));
        std::copy(from.begin(), from.end(), data());
    }
    Words(const Words& other) { *this = other; }
    Words& operator=(const Words& other) {
        if (this == &other) return *this;
        resize(other.size_);
        std::copy_n(other.data(), size_, data());
        return *this;
    }
    Words(Words&& other) noexcept { swap(other); }
    Words& operator=(Words&& other) noexcept {
        swap(other);
        return *this;
    }
    ~Words() { drop(); }

    // All words become zero.
    void resize(std::uint32_t size) {
        std::uint64_t* more = size > kInside ? new std::uint64_t[size]() : nullptr;
        drop();
        size_ = size;
        if (more != nullptr) {
            more_ = more;
        } else {
            std::fill_n(inside_, kInside, 0);
        }
    }

    std::uint32_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    std::uint64_t* data() { return size_ > kInside ? more_ : inside_; }
    const std::uint64_t* data() const { return size_ > kInside ? more_ : inside_; }
    std::uint64_t& operator[](std::size_t i) { return data()[i]; }
    const std::uint64_t& operator[](std::size_t i) const { return data()[i]; }
    const std::uint64_t* begin() const { return data(); }
    const std::uint64_t* end() const { return data() + size_; }
    bool operator==(const Words& other) const {
        return size_ == other.size_ && std::equal(begin(), end(), other.begin());
    }

  private:
    void drop() {
        if (size_ > kInside) delete[] more_;
        size_ = 0;
    }
    void swap(Words& other) noexcept {
        for (std::uint32_t i = 0; i < kInside; ++i) std::swap(inside_[i], other.inside_[i]);
        std::swap(size_, other.size_);
    }

    union {
        std::uint64_t inside_[kInside] = {};
        std::uint64_t* more_;  // of more words than fit inside
    };
    std::uint32_t size_ = 0;
};

}  // namespace csaud::sw
