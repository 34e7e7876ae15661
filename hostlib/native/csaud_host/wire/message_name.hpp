// The name of a message, and its place on the wire (docs/protocol.md, "On the wire").
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

namespace csaud {

// Unique among the messages that one rank sends to another one during an epoch. `src_rank` is the sender
// of the message also where the name is quoted by its receiver (ACK, STATE).
struct MessageName {
    std::uint16_t comm = 0;
    std::uint16_t epoch = 0;
    std::uint32_t coll_seq = 0;
    std::uint16_t step = 0;
    std::uint16_t src_rank = 0;
    std::uint16_t chunk = 0;

    // Its bytes in two words: names are compared and hashed with every packet.
    struct Words {
        std::uint64_t first = 0;  // comm, epoch, coll_seq
        std::uint64_t last = 0;   // the second half of coll_seq, step, src_rank, chunk
    };
    Words words() const noexcept {
        static_assert(offsetof(MessageName, chunk) == 12, "14 bytes without a gap");
        Words w;
        std::memcpy(&w.first, this, sizeof w.first);
        std::memcpy(&w.last, reinterpret_cast<const std::byte*>(this) + 6, sizeof w.last);
        return w;
    }

    friend bool operator==(const MessageName& a, const MessageName& b) noexcept {
        const Words x = a.words(), y = b.words();
        return ((x.first ^ y.first) | (x.last ^ y.last)) == 0;
    }
};

// Two rounds of a 64-bit finaliser over the name's 14 bytes: neighbouring names land far apart.
inline std::uint64_t hash_value(const MessageName& n) noexcept {
    const MessageName::Words w = n.words();
    std::uint64_t x = w.last ^ (w.first * 0x9e3779b97f4a7c15ULL);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

}  // namespace csaud

template <>
struct std::hash<csaud::MessageName> {
    std::size_t operator()(const csaud::MessageName& n) const noexcept {
        return static_cast<std::size_t>(csaud::hash_value(n));
    }
};
