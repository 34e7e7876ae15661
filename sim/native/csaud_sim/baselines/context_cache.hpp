// Contexts of queue pairs in a NIC: the least recently used one goes when another is fetched from the host's
// memory. So many fetches are under way at a time; each takes a round trip of PCIe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "csaud_host/base/ring_queue.hpp"
#include "csaud_host/base/time.hpp"

namespace csaud::sim::baselines {

struct ContextCacheModel {
    std::uint32_t contexts = 0;  // that have room; 0: all
    Nanos miss = 0;
    std::uint32_t fetches = 1;
};

// Which contexts are there.
class ContextCache {
  public:
    explicit ContextCache(std::uint32_t contexts) : room_(contexts) {}

    // Whether context `number` is there; it is from now on.
    bool use(std::uint32_t number) {
        if (room_ == 0) return true;
        if (number >= links_.size()) links_.resize(number + 1);
        const bool there = links_[number].there;
        if (there) {
            unlink(number);
        } else if (held_ == room_) {
            links_[oldest_].there = false;
            unlink(oldest_);
        } else {
            ++held_;
        }
        links_[number] = {newest_, kNone, true};
        if (newest_ != kNone) links_[newest_].newer = number;
        newest_ = number;
        if (oldest_ == kNone) oldest_ = number;
        return there;
    }

  private:
    static constexpr std::uint32_t kNone = UINT32_MAX;
    struct Links {
        std::uint32_t older = kNone, newer = kNone;
        bool there = false;
    };

    void unlink(std::uint32_t number) {
        const Links& at = links_[number];
        (at.older == kNone ? oldest_ : links_[at.older].newer) = at.newer;
        (at.newer == kNone ? newest_ : links_[at.newer].older) = at.older;
    }

    std::uint32_t room_, held_ = 0;
    std::uint32_t newest_ = kNone, oldest_ = kNone;
    std::vector<Links> links_;  // by context
};

// One direction of a NIC: when the context of each packet is there, in the order of packets.
class ContextFetches {
  public:
    explicit ContextFetches(const ContextCacheModel& model)
        : miss_(model.miss), ends_(std::max<std::uint32_t>(1, model.fetches)) {}

    // Of the next packet. It waits for those before it, and its fetch for one of the fetches under way.
    Nanos ready(bool there, Nanos now) {
        Nanos at = now;
        if (!there) {
            Nanos& end = ends_[turn_++ % ends_.size()];
            at = end = std::max(end, now) + miss_;
        }
        return latest_ = std::max(latest_, at);
    }

  private:
    Nanos miss_;
    std::vector<Nanos> ends_;  // of the latest fetches
    std::size_t turn_ = 0;
    Nanos latest_ = 0;
};

// First in, first out: what waits, each until a time that is not before that of the one before it.
template <class T>
class Waiting {
  public:
    bool empty() const { return queue_.empty(); }
    std::size_t size() const { return queue_.size(); }
    // Of the first one.
    Nanos due() const { return due_; }

    void push(T value, Nanos due) {
        if (queue_.empty()) due_ = due;
        queue_.push({std::move(value), due});
    }
    T pop() {
        T value = std::move(queue_.pop().value);
        due_ = queue_.empty() ? kNever : queue_.front().due;
        return value;
    }

  private:
    struct Entry {
        T value{};
        Nanos due = 0;
    };
    RingQueue<Entry> queue_;
    Nanos due_ = kNever;
};

}  // namespace csaud::sim::baselines
