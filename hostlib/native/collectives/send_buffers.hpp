// Room for copies of short messages, so that a collective is over when its ranks have what they need, and not
// only when the last acknowledgement has come: the transport repeats a message from its copy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

namespace csaud::collectives {

class SendBuffers {
  public:
    static constexpr std::size_t kLongest = 12'288;  // bytes: copied in less time than a packet takes
    static constexpr std::size_t kCount = 32;

    struct Copy {
        std::uint32_t place;
        std::span<const std::byte> bytes;
    };

    SendBuffers() : memory_(kCount * kLongest), free_(kCount) { std::iota(free_.begin(), free_.end(), 0); }

    // Nothing where the message is too long, or all places are taken.
    std::optional<Copy> copy(std::span<const std::byte> message) {
        if (message.size() > kLongest || free_.empty()) return std::nullopt;
        const std::uint32_t place = free_.back();
        free_.pop_back();
        const std::span<std::byte> room = std::span(memory_).subspan(place * kLongest, message.size());
        std::ranges::copy(message, room.begin());
        return Copy{place, room};
    }
    void give_back(std::uint32_t place) { free_.push_back(place); }

    // Where all copies lie.
    std::span<const std::byte> memory() const noexcept { return memory_; }

  private:
    std::vector<std::byte> memory_;
    std::vector<std::uint32_t> free_;
};

}  // namespace csaud::collectives
