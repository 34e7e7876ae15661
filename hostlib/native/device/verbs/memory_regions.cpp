#include "memory_regions.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "own_process.hpp"

namespace csaud::device::verbs {
namespace {

// Registering means a system call that pins pages; less than this is copied in that time.
constexpr std::size_t kWorthPinning = 64 << 10;
constexpr std::size_t kPage = 4096;

}  // namespace

std::shared_ptr<const Pin> MemoryRegions::pin(std::span<const std::byte> memory) {
    if (memory.size() < kWorthPinning) return nullptr;
    if (std::shared_ptr<const Pin> known = pinned(memory)) return known;
    // The library's interface has no const; without IBV_ACCESS_LOCAL_WRITE the device only reads.
    auto* start = const_cast<std::byte*>(memory.data());
    MemoryRegion mr(library().reg_mr(domain_->pd.get(), start, memory.size(), 0));
    if (!mr) return nullptr;
    auto pin = std::make_shared<const Pin>(make_in_own_process<const Region>(domain_, std::move(mr), memory));
    const std::lock_guard lock(mutex_);
    std::erase_if(pins_, [](const auto& entry) { return entry.second.expired(); });
    pins_.emplace(memory.data(), pin);
    return pin;
}

std::shared_ptr<const Region> MemoryRegions::find(std::span<const std::byte> part) {
    const std::shared_ptr<const Pin> pin = pinned(part);
    return pin ? pin->region : nullptr;
}

std::shared_ptr<const Pin> MemoryRegions::pinned(std::span<const std::byte> part) {
    const std::lock_guard lock(mutex_);
    // Those that begin at or before it; few are alive at a time.
    for (auto entry = pins_.upper_bound(part.data()); entry != pins_.begin();) {
        --entry;
        std::shared_ptr<const Pin> pin = entry->second.lock();
        if (pin && pin->region->holds(part)) return pin;
    }
    return nullptr;
}

Slab::Slab(const Domain& domain, std::size_t bytes, bool writable) {
    const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, whole)));
    if (!memory_) throw std::bad_alloc();
    std::memset(memory_.get(), 0, whole);
    mr_.reset(library().reg_mr(domain.pd.get(), memory_.get(), whole, writable ? IBV_ACCESS_LOCAL_WRITE : 0));
    if (!mr_) throw_error(errno, "register " + std::to_string(whole) + " bytes of memory (limit: ulimit -l)");
}

void Slab::Free::operator()(std::byte* memory) const {
    std::free(memory);
}

}  // namespace csaud::device::verbs
