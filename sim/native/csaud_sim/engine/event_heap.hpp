// The engine that needs nothing else: a heap of four children a node, whose events live in slots that are
// used again. No allocation once it has reached its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "csaud_sim/engine/engine.hpp"

namespace csaud::sim {

class EventHeap final : public Engine {
  public:
    Nanos now() const override { return now_; }
    EventId at(Nanos time, Actor& actor, std::uint32_t what) override;
    void cancel(EventId) override;
    void run(Nanos until) override;
    void stop() override { stopped_ = true; }

    std::size_t pending() const { return heap_.size(); }

  private:
    static constexpr unsigned kSlotBits = 20;
    static constexpr std::uint32_t kSlots = 1U << kSlotBits;

    // Sixteen bytes, so that four siblings are a cache line.
    struct Node {
        Nanos time;
        std::uint64_t order;  // serial number, and in the low bits the slot

        bool before(const Node& other) const {
            return time != other.time ? time < other.time : order < other.order;
        }
        std::uint32_t slot() const { return static_cast<std::uint32_t>(order) & (kSlots - 1); }
    };
    struct Slot {
        Actor* actor = nullptr;
        std::uint32_t what = 0;
        std::uint32_t place = 0;  // in the heap
        std::uint32_t use = 0;    // how often it was used: an id is of one use
    };

    std::uint32_t take_slot();
    void put(std::size_t place, const Node& node) {
        heap_[place] = node;
        slots_[node.slot()].place = static_cast<std::uint32_t>(place);
    }
    void rise(std::size_t place, const Node& node);
    void sink(std::size_t place, const Node& node);
    void remove(std::size_t place);

    std::vector<Node> heap_;
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;
    Nanos now_ = 0;
    std::uint64_t serial_ = 0;
    bool stopped_ = false;
};

}  // namespace csaud::sim
