// One deadline per item, the earliest on top. Items are (kind, index) with small indices.
//
// Deadlines that move later with every packet are not moved here: the old one is left to fire, and its owner
// then arms the true one. So a packet costs no heap operation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "csaud_host/base/time.hpp"

namespace csaud {

enum class TimerKind : std::uint8_t { recv, send, peer, abort, notices, rest, paths, turn };

struct Timer {
    Nanos due = kNever;
    TimerKind kind = TimerKind::recv;
    std::uint32_t index = 0;
};

class TimerHeap {
  public:
    // The item fires at `due`, whatever was armed before. kNever cancels.
    void arm(TimerKind, std::uint32_t index, Nanos due);
    // The item fires at `due` unless it would fire earlier anyway.
    void arm_earlier(TimerKind, std::uint32_t index, Nanos due);
    void cancel(TimerKind kind, std::uint32_t index) { arm(kind, index, kNever); }

    std::size_t bytes() const noexcept;
    Nanos next() const noexcept { return heap_.empty() ? kNever : heap_.front().due; }
    Timer pop();
    // Copies as many of those due by `now` as there is room for, in no order; the earliest is among them.
    std::size_t due(Nanos now, std::span<Timer> out) const noexcept;

  private:
    std::uint32_t& place(TimerKind kind, std::uint32_t index) {
        auto& places = places_[static_cast<std::size_t>(kind)];
        if (index >= places.size()) [[unlikely]]
            make_room(places, index);
        return places[index];
    }
    static void make_room(std::vector<std::uint32_t>& places, std::uint32_t index);
    void put(std::size_t i, const Timer&);
    void rise(std::size_t i);
    void sink(std::size_t i);
    void remove(std::size_t i);

    std::vector<Timer> heap_;
    std::array<std::vector<std::uint32_t>, 8>
        places_;  // by kind and index: position in the heap + 1, 0 = none
};

}  // namespace csaud
