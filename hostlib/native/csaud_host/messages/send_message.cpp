#include "csaud_host/messages/send_message.hpp"

#include <bit>

namespace csaud {
namespace {
std::size_t size_class(std::size_t packets) noexcept {
    return static_cast<std::size_t>(std::bit_width(packets - 1));  // smallest k with 2^k >= packets
}
}  // namespace

std::uint32_t RecordPool::take(std::size_t packets) {
    const std::size_t cls = size_class(packets);
    const std::size_t size = std::size_t{1} << cls;
    std::uint32_t first;
    if (!free_[cls].empty()) {
        first = free_[cls].back();
        free_[cls].pop_back();
    } else {
        if (used_ + size > kSlab) {
            slabs_.emplace_back(kSlab);
            used_ = 0;
        }
        first = static_cast<std::uint32_t>((slabs_.size() - 1) * kSlab + used_);
        used_ += size;
    }
    for (std::size_t i = 0; i < packets; ++i) at(first, i) = PacketRecord{};
    return first;
}

void RecordPool::release(std::uint32_t first, std::size_t packets) {
    free_[size_class(packets)].push_back(first);
}

}  // namespace csaud
