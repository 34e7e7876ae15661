#include "csaud_host/messages/reassembly.hpp"

#include <algorithm>
#include <cstring>

namespace csaud {

void Reassembly::reset(std::size_t total) noexcept {
    arrived_.clear();
    total_ = static_cast<std::uint16_t>(total);
    received_ = cumulative_ = high_ = 0;
}

bool Reassembly::mark(std::size_t idx) noexcept {
    if (!arrived_.set(idx)) return false;
    ++received_;
    high_ = std::max(high_, static_cast<std::uint16_t>(idx + 1));
    if (idx == cumulative_) cumulative_ = static_cast<std::uint16_t>(arrived_.first_clear(idx, total_));
    return true;
}

void Reassembly::place(const Cut& cut, std::span<std::byte> buffer, std::size_t idx,
                       std::span<const std::byte> payload) const noexcept {
    if (!payload.empty()) std::memcpy(buffer.data() + idx * cut.payload, payload.data(), payload.size());
}

}  // namespace csaud
