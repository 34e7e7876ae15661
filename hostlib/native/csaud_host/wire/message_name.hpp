// The name of a message, and its place on the wire (docs/protocol.md, "On the wire").
#pragma once

#include <cstddef>
#include <cstdint>
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

    friend bool operator==(const MessageName&, const MessageName&) = default;
};

// Two rounds of a 64-bit finaliser over the name's 14 bytes: neighbouring names land far apart.
inline std::uint64_t hash_value(const MessageName& n) noexcept {
    const std::uint64_t low = (std::uint64_t{n.coll_seq} << 32) | (std::uint64_t{n.step} << 16) | n.chunk;
    const std::uint64_t high = (std::uint64_t{n.comm} << 32) | (std::uint64_t{n.epoch} << 16) | n.src_rank;
    std::uint64_t x = low ^ (high * 0x9e3779b97f4a7c15ULL);
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
