// Registered memory: what the device may read from or write to by itself.
//
// A buffer of the application is registered while anything that is posted holds it, and by then nobody can
// free or move it. A collective holds its arrays from its first post to its last completion and so registers
// each of them once. The device may read a moment longer, until what was sent has completed: by then the
// registration is of pages whose address may hold something else, so nobody finds it any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "library.hpp"

namespace csaud::device::verbs {

class Region {
  public:
    Region(std::shared_ptr<Domain> domain, MemoryRegion mr, std::span<const std::byte> memory)
        : domain_(std::move(domain)), mr_(std::move(mr)), memory_(memory) {}

    bool holds(std::span<const std::byte> part) const {
        return part.data() >= memory_.data() && part.data() + part.size() <= memory_.data() + memory_.size();
    }
    std::uint32_t key() const { return mr_->lkey; }

  private:
    std::shared_ptr<Domain> domain_;
    MemoryRegion mr_;
    std::span<const std::byte> memory_;
};

// What those who hold a buffer share: as long as one of them does, its registration may be used.
struct Pin {
    std::shared_ptr<const Region> region;
};

// Calls are from any thread.
class MemoryRegions {
  public:
    explicit MemoryRegions(std::shared_ptr<Domain> domain) : domain_(std::move(domain)) {}

    // Registers `memory` for sending until the last holder of the result lets go. Nothing: it is small, and
    // copied faster than registered, or the device refuses (memory lock limit).
    std::shared_ptr<const Pin> pin(std::span<const std::byte> memory);

    // The registration of a pinned buffer that covers `part`, or nothing. It lasts as long as the result.
    std::shared_ptr<const Region> find(std::span<const std::byte> part);

  private:
    std::shared_ptr<const Pin> pinned(std::span<const std::byte> part);

    std::shared_ptr<Domain> domain_;
    std::mutex mutex_;
    std::multimap<const std::byte*, std::weak_ptr<const Pin>> pins_;  // by first byte
};

// Registered memory of our own, zeroed; the device may write to it where `writable`.
class Slab {
  public:
    Slab(const Domain& domain, std::size_t bytes, bool writable);

    std::byte* data() const { return memory_.get(); }
    std::uint32_t key() const { return mr_->lkey; }

  private:
    struct Free {
        void operator()(std::byte* memory) const;
    };
    std::unique_ptr<std::byte, Free> memory_;
    MemoryRegion mr_;
};

}  // namespace csaud::device::verbs
