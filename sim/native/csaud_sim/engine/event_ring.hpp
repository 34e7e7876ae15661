// Times that come soon, each with a list of numbers: those of a span from a moving begin on.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "csaud_sim/engine/engine.hpp"

namespace csaud::sim {

class EventRing {
  public:
    static constexpr std::uint32_t kNone = UINT32_MAX;
    static constexpr Nanos kSpan = 64 * 64;  // so that two levels of words say which times have a list

    struct List {
        std::uint32_t first = kNone, last = kNone;
    };

    Nanos begin() const { return begin_; }
    Nanos end() const { return begin_ + kSpan; }
    // Nothing is before it.
    void move(Nanos begin) { begin_ = begin; }
    bool empty() const { return words_ == 0; }

    // Of a time between begin and end; what is put there is to be told by mark().
    List& at(Nanos time) { return lists_[place(time)]; }
    const List& at(Nanos time) const { return lists_[place(time)]; }
    void mark(Nanos time) {
        const std::size_t at = place(time);
        lists_marked_[at / 64] |= bit(at);
        words_ |= bit(at / 64);
    }
    void unmark(Nanos time) {
        const std::size_t at = place(time);
        lists_marked_[at / 64] &= ~bit(at);
        if (lists_marked_[at / 64] == 0) words_ &= ~bit(at / 64);
    }
    // The first time that is marked; there is one.
    Nanos first() const {
        const std::size_t from = place(begin_);
        const std::size_t word = from / 64;
        if (const std::uint64_t here = lists_marked_[word] >> from % 64; here != 0)
            return begin_ + std::countr_zero(here);
        // Of the other words, the begin's own is the last one: what it has before the begin.
        const std::size_t next = (word + 1) % 64;
        const auto skip =
            static_cast<std::size_t>(std::countr_zero(std::rotr(words_, static_cast<int>(next))));
        const std::size_t other = (next + skip) % 64;
        const std::size_t found =
            64 * other + static_cast<std::size_t>(std::countr_zero(lists_marked_[other]));
        return begin_ + static_cast<Nanos>((found - from) % static_cast<std::size_t>(kSpan));
    }

  private:
    static std::size_t place(Nanos time) {
        return static_cast<std::size_t>(time) % static_cast<std::size_t>(kSpan);
    }
    static std::uint64_t bit(std::size_t at) { return std::uint64_t{1} << at % 64; }

    Nanos begin_ = 0;
    std::uint64_t words_ = 0;  // bit n: word n is not 0
    std::array<std::uint64_t, 64> lists_marked_{};
    std::array<List, static_cast<std::size_t>(kSpan)> lists_;
};

}  // namespace csaud::sim
