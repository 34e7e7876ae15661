// What a forger has seen of a network: the last packets, and the last ones of each type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "csaud_host/wire/wire.hpp"
#include "forgery.hpp"

namespace csaud::fuzz {

struct UnderWay {
    std::uint16_t to = 0;
    std::vector<std::byte> packet;
};

class Seen {
  public:
    bool empty() const { return all_.empty(); }

    // Any, by a number of whatever size.
    const UnderWay& operator[](std::size_t which) const { return all_[which % all_.size()]; }
    // One of a type, so that those of which there are few are forged as often as DATA; or any.
    const UnderWay& of_type(std::uint8_t which) const {
        const auto& same = by_type_[which % by_type_.size()];
        return same.empty() ? (*this)[which] : same[which / by_type_.size() % same.size()];
    }

    void remember(wire::Type type, const UnderWay& packet) {
        remember(all_, packet);
        remember(by_type_[static_cast<std::size_t>(type)], packet);
    }

  private:
    static constexpr std::size_t kMost = 32;

    static void remember(std::deque<UnderWay>& packets, const UnderWay& packet) {
        if (packets.size() == kMost) packets.pop_front();
        packets.push_back(packet);
    }

    std::deque<UnderWay> all_;
    std::array<std::deque<UnderWay>, kTypes> by_type_;
};

}  // namespace csaud::fuzz
