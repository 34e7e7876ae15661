#include "csaud_host/base/timer_heap.hpp"

#include <algorithm>
#include <utility>

namespace csaud {

void TimerHeap::make_room(std::vector<std::uint32_t>& places, std::uint32_t index) {
    places.resize(std::max<std::size_t>(index + 1, places.size() * 2), 0);
}

void TimerHeap::put(std::size_t i, const Timer& t) {
    heap_[i] = t;
    place(t.kind, t.index) = static_cast<std::uint32_t>(i + 1);
}

void TimerHeap::rise(std::size_t i) {
    const Timer t = heap_[i];
    while (i > 0 && t.due < heap_[(i - 1) / 2].due) {
        put(i, heap_[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    put(i, t);
}

void TimerHeap::sink(std::size_t i) {
    const Timer t = heap_[i];
    for (;;) {
        std::size_t child = 2 * i + 1;
        if (child >= heap_.size()) break;
        if (child + 1 < heap_.size() && heap_[child + 1].due < heap_[child].due) ++child;
        if (t.due <= heap_[child].due) break;
        put(i, heap_[child]);
        i = child;
    }
    put(i, t);
}

void TimerHeap::remove(std::size_t i) {
    place(heap_[i].kind, heap_[i].index) = 0;
    const Timer last = heap_.back();
    heap_.pop_back();
    if (i == heap_.size()) return;
    put(i, last);
    rise(i);
    sink(place(last.kind, last.index) - 1);
}

void TimerHeap::arm(TimerKind kind, std::uint32_t index, Nanos due) {
    const std::uint32_t at = place(kind, index);
    if (due == kNever) {
        if (at != 0) remove(at - 1);
        return;
    }
    if (at == 0) {
        heap_.push_back({due, kind, index});
        rise(heap_.size() - 1);
        return;
    }
    heap_[at - 1].due = due;
    rise(at - 1);
    sink(place(kind, index) - 1);
}

void TimerHeap::arm_earlier(TimerKind kind, std::uint32_t index, Nanos due) {
    const std::uint32_t at = place(kind, index);
    if (at == 0 || due < heap_[at - 1].due) arm(kind, index, due);
}

std::size_t TimerHeap::bytes() const noexcept {
    std::size_t n = heap_.capacity() * sizeof(Timer);
    for (const auto& places : places_) n += places.capacity() * sizeof(std::uint32_t);
    return n;
}

std::size_t TimerHeap::due(Nanos now, std::span<Timer> out) const noexcept {
    // What is due stands above what is not: whoever is not due has nobody due below.
    constexpr std::size_t kMost = 32;
    std::array<std::size_t, kMost> places;
    const std::size_t room = std::min(kMost, out.size());
    std::size_t found = 0;
    const auto look = [&](std::size_t i) {
        if (found == room || i >= heap_.size() || heap_[i].due > now) return;
        out[found] = heap_[i];
        places[found++] = i;
    };
    look(0);
    for (std::size_t at = 0; at < found; ++at) {
        look(2 * places[at] + 1);
        look(2 * places[at] + 2);
    }
    return found;
}

Timer TimerHeap::pop() {
    const Timer top = heap_.front();
    remove(0);
    return top;
}

}  // namespace csaud
