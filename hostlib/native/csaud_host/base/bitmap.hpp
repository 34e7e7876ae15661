// The packets of a message that have arrived: at most 512 bits, in place.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace csaud {

inline constexpr std::size_t kMaxPackets = 512;  // of one message

class Bitmap {
  public:
    bool test(std::size_t i) const noexcept { return (words_[i / 64] >> (i % 64)) & 1U; }

    // True if the bit was clear.
    bool set(std::size_t i) noexcept {
        const std::uint64_t bit = std::uint64_t{1} << (i % 64);
        const bool fresh = (words_[i / 64] & bit) == 0;
        words_[i / 64] |= bit;
        return fresh;
    }

    std::size_t count() const noexcept {
        std::size_t n = 0;
        for (const std::uint64_t w : words_) n += static_cast<std::size_t>(std::popcount(w));
        return n;
    }

    // The first clear bit at or after `from`, at most `end`.
    std::size_t first_clear(std::size_t from, std::size_t end) const noexcept {
        for (std::size_t i = from; i < end; i = (i / 64 + 1) * 64) {
            const std::uint64_t clear = ~words_[i / 64] >> (i % 64);
            if (clear != 0) return std::min(end, i + static_cast<std::size_t>(std::countr_zero(clear)));
        }
        return end;
    }

    void clear() noexcept { words_.fill(0); }

    // Calls f(i) for each bit that is set here and clear in `other`, which f may change.
    template <class F>
    void for_each_beyond(const Bitmap& other, F&& f) const {
        for (std::size_t w = 0; w < words_.size(); ++w) {
            for (std::uint64_t left = words_[w] & ~other.words_[w]; left != 0; left &= left - 1)
                f(w * 64 + static_cast<std::size_t>(std::countr_zero(left)));
        }
    }

    // Wire form: bit i is 0x80 >> (i % 8) of byte i / 8. `bits` of them.
    void write(std::span<std::byte> out, std::size_t bits) const noexcept;
    // Sets what is set on the wire; returns how many bits became set. `in` has (bits + 7) / 8 bytes.
    std::size_t merge(std::span<const std::byte> in, std::size_t bits) noexcept;

    static constexpr std::size_t wire_bytes(std::size_t bits) noexcept { return (bits + 7) / 8; }

    friend bool operator==(const Bitmap&, const Bitmap&) = default;

  private:
    std::array<std::uint64_t, kMaxPackets / 64> words_{};
};

}  // namespace csaud
