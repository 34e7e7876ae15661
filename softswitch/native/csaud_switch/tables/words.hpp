// A short array of words that lies within its owner, so that a lookup that has found the owner has found the
// words too.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
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
    Words(Words&& other) noexcept = default;
    Words& operator=(Words&& other) noexcept = default;
    ~Words() = default;

    // All words become zero.
    void resize(std::uint32_t size) {
        size_ = size;
        more_ = size > kInside ? std::make_unique<std::uint64_t[]>(size) : nullptr;
        std::fill_n(inside_, kInside, 0);
    }

    std::uint32_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    std::uint64_t* data() { return size_ > kInside ? more_.get() : inside_; }
    const std::uint64_t* data() const { return size_ > kInside ? more_.get() : inside_; }
    std::uint64_t& operator[](std::size_t i) { return data()[i]; }
    const std::uint64_t& operator[](std::size_t i) const { return data()[i]; }
    const std::uint64_t* begin() const { return data(); }
    const std::uint64_t* end() const { return data() + size_; }
    bool operator==(const Words& other) const {
        return size_ == other.size_ && std::equal(begin(), end(), other.begin());
    }

  private:
    std::uint64_t inside_[kInside] = {};
    std::unique_ptr<std::uint64_t[]> more_;
    std::uint32_t size_ = 0;
};

}  // namespace csaud::sw
