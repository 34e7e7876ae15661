#include "csaud_sim/engine/event_heap.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace csaud::sim {

std::uint32_t EventHeap::take_slot() {
    if (!free_.empty()) {
        const std::uint32_t slot = free_.back();
        free_.pop_back();
        return slot;
    }
    if (slots_.size() == kSlots) throw std::length_error("a million events are pending");
    slots_.emplace_back();
    return static_cast<std::uint32_t>(slots_.size() - 1);
}

EventId EventHeap::at(Nanos time, Actor& actor, std::uint32_t what) {
    if (time < now_)
        throw std::invalid_argument("time " + std::to_string(time) + " lies before the present, " +
                                    std::to_string(now_));
    const std::uint32_t index = take_slot();
    Slot& slot = slots_[index];
    slot.actor = &actor;
    slot.what = what;
    ++slot.use;
    heap_.emplace_back();
    rise(heap_.size() - 1, {time, serial_++ << kSlotBits | index});
    return EventId{slot.use} << 32 | index;
}

void EventHeap::cancel(EventId id) {
    const auto index = static_cast<std::uint32_t>(id);
    if (index >= slots_.size() || slots_[index].use != id >> 32 || slots_[index].actor == nullptr) return;
    remove(slots_[index].place);
    slots_[index].actor = nullptr;
    free_.push_back(index);
}

void EventHeap::run(Nanos until) {
    stopped_ = false;
    while (!heap_.empty() && heap_.front().time <= until) {
        const Node first = heap_.front();
        remove(0);
        Slot& slot = slots_[first.slot()];
        Actor& actor = *slot.actor;
        const std::uint32_t what = slot.what;
        slot.actor = nullptr;
        free_.push_back(first.slot());
        now_ = first.time;
        actor.act(what, now_);
        if (stopped_) return;
    }
    now_ = std::max(now_, until);
}

void EventHeap::rise(std::size_t place, const Node& node) {
    while (place > 0) {
        const std::size_t parent = (place - 1) / 4;
        if (!node.before(heap_[parent])) break;
        put(place, heap_[parent]);
        place = parent;
    }
    put(place, node);
}

void EventHeap::sink(std::size_t place, const Node& node) {
    const std::size_t size = heap_.size();
    for (std::size_t child = 4 * place + 1; child < size; child = 4 * place + 1) {
        const std::size_t end = std::min(child + 4, size);
        std::size_t least = child;
        for (std::size_t other = child + 1; other < end; ++other)
            if (heap_[other].before(heap_[least])) least = other;
        if (!heap_[least].before(node)) break;
        put(place, heap_[least]);
        place = least;
    }
    put(place, node);
}

void EventHeap::remove(std::size_t place) {
    const Node last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size()) return;
    if (place > 0 && last.before(heap_[(place - 1) / 4])) {
        rise(place, last);
    } else {
        sink(place, last);
    }
}

}  // namespace csaud::sim
