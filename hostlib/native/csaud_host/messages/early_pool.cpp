#include "csaud_host/messages/early_pool.hpp"

#include <algorithm>
#include <cstring>

namespace csaud {

std::uint32_t EarlyPool::store(std::uint32_t head, std::uint16_t idx, std::span<const std::byte> payload) {
    if (held_ == capacity_) return kNone;
    if (free_ == kNone) {
        const auto first = static_cast<std::uint32_t>(slots_.size());
        slabs_.push_back(std::make_unique<std::byte[]>(kSlab * payload_));
        slots_.resize(slots_.size() + kSlab);
        for (std::uint32_t i = first; i < first + kSlab; ++i)
            slots_[i].next = i + 1 < first + kSlab ? i + 1 : kNone;
        free_ = first;
    }
    const std::uint32_t i = free_;
    free_ = slots_[i].next;
    slots_[i] = {head, idx, static_cast<std::uint16_t>(payload.size())};
    if (!payload.empty()) std::memcpy(bytes(i), payload.data(), payload.size());
    ++held_;
    return i;
}

std::uint32_t EarlyPool::release(std::uint32_t i) {
    const std::uint32_t next = slots_[i].next;
    slots_[i].next = free_;
    free_ = i;
    --held_;
    return next;
}

std::span<const std::byte> EarlyPool::payload(std::uint32_t i) const noexcept {
    return {bytes(i), slots_[i].length};
}

}  // namespace csaud
