// Copies to send again, in the order of how much the collective waits for them: class, then slack, then the
// longer chain of steps behind it, then the message with fewer holes, then the packet that was lost more
// often. Which detector found a loss first is what the books say of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "csaud_host/base/pool.hpp"
#include "csaud_host/base/time.hpp"

namespace csaud {

enum class Detector : std::uint8_t { loss, gap, interval, probe };

// Classes of criticality beside those that a message brings along (docs/protocol.md, "What the schedule
// tells").
inline constexpr std::uint8_t kUrgentClass = 1;  // and 0: as the message says
inline constexpr std::uint8_t kLateClass = 2;    // no slack is left
inline constexpr std::uint8_t kRepairClass = 3;  // any other retransmission

struct Retransmission {
    Handle message;
    std::uint16_t pkt_idx = 0;
    Detector found_by = Detector::interval;
    std::uint8_t cls = kRepairClass;  // of the message, at most kRepairClass
    std::uint8_t attempt = 0;         // that was lost
    std::uint16_t chain = 0;
    std::uint16_t holes = 0;  // of the message, when the loss was found
    Nanos latest = kNever;    // when the copy must go to be in time: slack is what is left until then

    // Slack turns negative for the earliest `latest` first, so the class that this makes needs no order of
    // its own.
    std::uint8_t class_at(Nanos now) const noexcept {
        return cls > kLateClass && latest < now ? kLateClass : cls;
    }
};

class RetransmitQueue {
  public:
    // Not `ordered`: found first, sent first.
    explicit RetransmitQueue(bool ordered = true) noexcept : ordered_(ordered) {}

    bool empty() const noexcept { return heap_.empty(); }
    const Retransmission& front() const noexcept { return heap_.front().what; }

    void push(const Retransmission& r) {
        heap_.push_back({r, next_++});
        if (!ordered_) heap_.back().what = {r.message, r.pkt_idx, r.found_by};
        std::ranges::push_heap(heap_, after);
    }
    Retransmission pop() {
        std::ranges::pop_heap(heap_, after);
        const Retransmission r = heap_.back().what;
        heap_.pop_back();
        return r;
    }
    void clear() noexcept { heap_.clear(); }

  private:
    struct Entry {
        Retransmission what;
        std::uint64_t order = 0;  // found first, sent first, where nothing else tells
    };
    static bool after(const Entry& a, const Entry& b) noexcept {
        const auto key = [](const Entry& e) {
            const Retransmission& r = e.what;
            const std::uint8_t cls = std::min(r.cls, kLateClass);
            return std::tuple(cls, r.latest, UINT16_MAX - r.chain, r.holes, UINT8_MAX - r.attempt, e.order);
        };
        return key(a) > key(b);
    }

    bool ordered_;
    std::vector<Entry> heap_;
    std::uint64_t next_ = 0;
};

}  // namespace csaud
