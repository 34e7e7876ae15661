// The engine that needs nothing else. What comes soon is in a ring with a list for each nanosecond, the rest
// in a heap of four children a node, from where it goes to the ring in time. Events live in slots that are
// used again: no allocation once it has reached its size.
//
// What is cancelled stays where it is, without an actor, until its time comes or it is half of the heap: so
// nothing has to know where an event is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "csaud_sim/engine/engine.hpp"
#include "csaud_sim/engine/event_ring.hpp"

namespace csaud::sim {

class EventHeap final : public Engine {
  public:
    Nanos now() const override { return now_; }
    EventId at(Nanos time, Actor& actor, std::uint32_t what) override;
    void cancel(EventId) override;
    void run(Nanos until) override;
    void stop() override { stopped_ = true; }

    std::size_t pending() const { return pending_; }

  private:
    static constexpr unsigned kSlotBits = 20;
    static constexpr std::uint32_t kSlots = 1U << kSlotBits;
    static constexpr std::size_t kFewCancelled = 64;  // which are no reason to look at all of them

    // Time, serial number, and in the low bits the slot: sixteen bytes, so that four siblings are a cache
    // line, and one number, so that comparing them takes no branch.
    __extension__ using Node = unsigned __int128;
    static constexpr Node node(Nanos time, std::uint64_t serial, std::uint32_t slot) {
        return Node{static_cast<std::uint64_t>(time)} << 64 | (serial << kSlotBits | slot);
    }
    static constexpr Nanos time_of(Node node) { return static_cast<Nanos>(node >> 64); }
    static constexpr std::uint32_t slot_of(Node node) {
        return static_cast<std::uint32_t>(node) & (kSlots - 1);
    }

    struct Slot {
        Actor* actor = nullptr;  // nobody: it was cancelled, or is free
        std::uint32_t what = 0;
        std::uint32_t use = 0;                  // how often it was used: an id is of one use
        std::uint32_t next = EventRing::kNone;  // of the same time, in the ring
        bool in_heap = false;
    };

    std::uint32_t take_slot();
    void append(Nanos time, std::uint32_t slot);
    void release(std::uint32_t slot);
    // The time of the first event, kNever where there is none.
    Nanos first() const;
    // The ring begins at this time from now on: no event is before it.
    void move_ring(Nanos begin);
    void rise(std::size_t place, Node node);
    // The first one of the heap goes.
    void pop();
    // Of the siblings from the first one on.
    std::size_t least_child(std::size_t first, std::size_t size) const;
    void forget_cancelled();

    EventRing ring_;
    std::vector<Node> heap_;  // at the ring's end or later
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;
    Nanos now_ = 0;
    std::uint64_t serial_ = 0;
    std::size_t pending_ = 0;
    std::size_t cancelled_ = 0;  // of the heap
    bool stopped_ = false;
};

}  // namespace csaud::sim
