// What is on its way between the ranks of a fuzzed job, and what somebody who listens beside rank 0 has seen.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "csaud_host/wire/wire.hpp"
#include "forgery.hpp"
#include "ranks.hpp"

namespace csaud::fuzz {

struct UnderWay {
    std::uint16_t to = 0;
    Bytes packet;
};

class Traffic {
  public:
    void add(UnderWay packet, wire::Type type, bool overheard) {
        if (overheard) {
            remember(seen_, packet);
            remember(by_type_[static_cast<std::size_t>(type)], packet);
        }
        if (under_way_.size() < kUnderWay) under_way_.push_back(std::move(packet));
    }

    bool under_way() const noexcept { return !under_way_.empty(); }
    // Takes one of them, and of those sent after it the next ones to the same rank, `most` in all. Returns
    // the rank.
    std::uint16_t take(std::size_t which, std::size_t most, std::vector<Bytes>& packets) {
        if (under_way_.empty()) return 0;
        const auto first = under_way_.begin() + static_cast<std::ptrdiff_t>(which % under_way_.size());
        const std::uint16_t to = first->to;
        const auto gone = std::remove_if(first, under_way_.end(), [&](UnderWay& u) {
            if (u.to != to || packets.size() == most) return false;
            packets.push_back(std::move(u.packet));
            return true;
        });
        under_way_.erase(gone, under_way_.end());
        return to;
    }
    void lose(std::size_t which) {
        if (under_way_.empty()) return;
        under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(which % under_way_.size()));
    }

    // One that came to rank 0, or left it; nullptr: there was none.
    const UnderWay* seen(std::size_t which) const noexcept {
        return seen_.empty() ? nullptr : &seen_[which % seen_.size()];
    }
    // One of a type, so that those of which there are few are forged as often as DATA; or any.
    const UnderWay* of_type(std::uint8_t which) const noexcept {
        const auto& same = by_type_[which % by_type_.size()];
        return same.empty() ? seen(which) : &same[which / by_type_.size() % same.size()];
    }

  private:
    using Packets = std::deque<UnderWay>;
    static constexpr std::size_t kSeen = 32;        // packets that a forger remembers
    static constexpr std::size_t kUnderWay = 1024;  // more are lost

    static void remember(Packets& packets, const UnderWay& packet) {
        if (packets.size() == kSeen) packets.pop_front();
        packets.push_back(packet);
    }

    Packets under_way_;
    Packets seen_;
    std::array<Packets, kTypes> by_type_;
};

}  // namespace csaud::fuzz
