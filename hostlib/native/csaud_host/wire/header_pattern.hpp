// The bytes that the headers of some packets have in common, compared all at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>

#include "csaud_host/wire/wire.hpp"

namespace csaud::wire {

using HeaderBytes = std::array<std::byte, kHeaderBytes>;

struct ByteRange {
    std::size_t from, to;  // without the last one
};

// Ones where packets have the same.
consteval HeaderBytes same_in(std::initializer_list<ByteRange> ranges) {
    HeaderBytes same{};
    for (const ByteRange& r : ranges) {
        for (std::size_t i = r.from; i < r.to; ++i) same[i] = std::byte{0xFF};
    }
    return same;
}

// path_id and what follows it are never the same, and not compared.
template <const HeaderBytes& kSame>
class HeaderPattern {
  public:
    // `headers` holds kHeaderBytes at least, here and below.
    void learn(const std::byte* headers) noexcept {
        for (std::size_t i = 0; i < kBlocks; ++i) common_[i] = block(headers, i) & block(kSame.data(), i);
        rest_ = rest(headers) & rest(kSame.data());
    }
    bool matches(const std::byte* headers) const noexcept {
        Block differs{};
        for (std::size_t i = 0; i < kBlocks; ++i)
            differs |= (block(headers, i) & block(kSame.data(), i)) ^ common_[i];
        const std::uint64_t more = (rest(headers) & rest(kSame.data())) ^ rest_;
        return (differs[0] | differs[1] | more) == 0;
    }

  private:
    using Block [[gnu::vector_size(16)]] = std::uint64_t;
    static constexpr std::size_t kBlocks = kHeaderBytes / sizeof(Block) - 1;

    static Block block(const std::byte* bytes, std::size_t i) noexcept {
        Block b;
        std::memcpy(&b, bytes + i * sizeof b, sizeof b);
        return b;
    }
    static std::uint64_t rest(const std::byte* bytes) noexcept {
        std::uint64_t r;
        std::memcpy(&r, bytes + kBlocks * sizeof(Block), sizeof r);
        return r;
    }

    Block common_[kBlocks] = {};
    std::uint64_t rest_ = 0;
};

}  // namespace csaud::wire
