#include "csaud_sim/engine/event_heap.hpp"

#include <algorithm>
#include <limits>
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
    ++pending_;
    slot.in_heap = time >= ring_.end();
    if (slot.in_heap) {
        heap_.emplace_back();
        rise(heap_.size() - 1, node(time, serial_++, index));
    } else {
        append(time, index);
    }
    return EventId{slot.use} << 32 | index;
}

// To the ring, behind all of this time.
void EventHeap::append(Nanos time, std::uint32_t slot) {
    EventRing::List& list = ring_.at(time);
    slots_[slot].next = EventRing::kNone;
    if (list.first == EventRing::kNone) {
        list.first = slot;
        ring_.mark(time);
    } else {
        slots_[list.last].next = slot;
    }
    list.last = slot;
}

void EventHeap::release(std::uint32_t slot) {
    slots_[slot].actor = nullptr;
    free_.push_back(slot);
}

void EventHeap::cancel(EventId id) {
    const auto index = static_cast<std::uint32_t>(id);
    if (index >= slots_.size() || slots_[index].use != id >> 32 || slots_[index].actor == nullptr) return;
    slots_[index].actor = nullptr;
    --pending_;
    if (slots_[index].in_heap && ++cancelled_ * 2 > heap_.size() + kFewCancelled) forget_cancelled();
}

void EventHeap::forget_cancelled() {
    std::erase_if(heap_, [&](Node node) {
        const bool gone = slots_[slot_of(node)].actor == nullptr;
        if (gone) free_.push_back(slot_of(node));
        return gone;
    });
    // What is sorted is a heap.
    std::ranges::sort(heap_);
    cancelled_ = 0;
}

Nanos EventHeap::first() const {
    if (!ring_.empty()) return ring_.first();
    return heap_.empty() ? std::numeric_limits<Nanos>::max() : time_of(heap_.front());
}

// Before anybody can ask for a time that the ring has only now: what was asked for earlier comes first.
void EventHeap::move_ring(Nanos begin) {
    ring_.move(begin);
    while (!heap_.empty() && time_of(heap_.front()) < ring_.end()) {
        const Node node = heap_.front();
        pop();
        Slot& slot = slots_[slot_of(node)];
        slot.in_heap = false;
        if (slot.actor == nullptr) {
            --cancelled_;
            free_.push_back(slot_of(node));
        } else {
            append(time_of(node), slot_of(node));
        }
    }
}

void EventHeap::run(Nanos until) {
    stopped_ = false;
    while (pending_ > 0) {
        const Nanos time = first();
        if (time > until) break;
        if (time != ring_.begin()) move_ring(time);
        EventRing::List& list = ring_.at(time);
        const std::uint32_t index = list.first;
        if (index == EventRing::kNone) continue;  // what was there was cancelled
        Slot& slot = slots_[index];
        Actor* const actor = slot.actor;
        const std::uint32_t what = slot.what;
        list.first = slot.next;
        if (list.first == EventRing::kNone) ring_.unmark(time);
        release(index);
        if (actor == nullptr) continue;
        --pending_;
        now_ = time;
        actor->act(what, now_);
        if (stopped_) return;
    }
    now_ = std::max(now_, until);
}

void EventHeap::rise(std::size_t place, Node node) {
    while (place > 0) {
        const std::size_t parent = (place - 1) / 4;
        if (heap_[parent] < node) break;
        heap_[place] = heap_[parent];
        place = parent;
    }
    heap_[place] = node;
}

std::size_t EventHeap::least_child(std::size_t first, std::size_t size) const {
    const Node* const nodes = heap_.data();
    if (first + 4 <= size) {
        const std::size_t left = nodes[first + 1] < nodes[first] ? first + 1 : first;
        const std::size_t right = nodes[first + 3] < nodes[first + 2] ? first + 3 : first + 2;
        return nodes[right] < nodes[left] ? right : left;
    }
    std::size_t least = first;
    for (std::size_t other = first + 1; other < size; ++other)
        if (nodes[other] < nodes[least]) least = other;
    return least;
}

// The gap goes down to a leaf, and the last one, which mostly belongs near there, rises from it.
void EventHeap::pop() {
    const Node last = heap_.back();
    heap_.pop_back();
    const std::size_t size = heap_.size();
    if (size == 0) return;
    std::size_t place = 0;
    for (std::size_t child = 1; child < size; child = 4 * place + 1) {
        const std::size_t least = least_child(child, size);
        heap_[place] = heap_[least];
        place = least;
    }
    rise(place, last);
}

}  // namespace csaud::sim
