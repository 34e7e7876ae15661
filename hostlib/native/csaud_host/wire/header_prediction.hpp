// Header prediction (Jacobson's, of TCP): packets of one message have most bytes of their headers in common,
// so one that has those of a packet that was taken apart and found right needs no more than a comparison, and
// what packets differ in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "csaud_host/base/byte_order.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud::wire {

class HeaderPrediction {
  public:
    // The headers of a DATA packet that was taken.
    void learn(std::span<const std::byte> packet) noexcept {
        length_ = get16(packet.data() + 2);
        for (std::size_t i = 0; i < kBlocks; ++i)
            common_[i] = block(packet.data(), i) & block(kSame.data(), i);
        rest_ = rest(packet.data()) & rest(kSame.data());
    }
    void forget() noexcept { length_ = SIZE_MAX; }

    // Is it one more of that message, of the same length? It has room for headers.
    bool matches(std::span<const std::byte> packet) const noexcept {
        if (packet.size() < length_) return false;
        Block differs{};
        for (std::size_t i = 0; i < kBlocks; ++i)
            differs |= (block(packet.data(), i) & block(kSame.data(), i)) ^ common_[i];
        const std::uint64_t more = (rest(packet.data()) & rest(kSame.data())) ^ rest_;
        return (differs[0] | differs[1] | more) == 0;
    }
    // Of the IPv4 packet, whatever follows it in its buffer.
    std::size_t length() const noexcept { return length_; }

    // What a packet that matches differs in from the one that `d` was made of. Of its route that is TOS
    // alone: IP id, TTL, source port and PSN are nobody's concern and stay as they were.
    static void update(std::span<const std::byte> packet, Decoded& d) noexcept {
        const std::byte* p = packet.data();
        d.route.tos = get8(p + 1);
        d.csa.flags = get8(p + kCsaOffset + 3);
        d.csa.attempt = get8(p + kCsaOffset + 5);
        d.csa.pkt_idx = get16(p + kCsaOffset + 20);
        const std::uint64_t end = get64(p + kCsaOffset + 24);
        d.csa.tx_ts = static_cast<std::uint32_t>(end);
        d.csa.path_seq = static_cast<std::uint16_t>(end >> 32);
        d.csa.path_id = static_cast<std::uint16_t>(end >> 48);
        d.payload = {p + kHeaderBytes, d.payload.size()};
    }
    // The same of where the tag is, if there is one, and what it covers.
    static void update_tag(std::span<const std::byte> packet, Decoded& d) noexcept {
        d.headers = packet.subspan(kCsaOffset, d.headers.size());
        d.tag = d.payload.data() + d.payload.size();
    }

  private:
    using Block [[gnu::vector_size(16)]] = std::uint64_t;
    // But for path_id and what follows, which are never the same.
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
    // Ones where packets of a message have the same.
    static constexpr std::array<std::byte, kHeaderBytes> kSame = [] {
        std::array<std::byte, kHeaderBytes> same{};
        const auto bytes = [&](std::size_t from, std::size_t to) {
            for (std::size_t i = from; i < to; ++i) same[i] = std::byte{0xFF};
        };
        bytes(0, 1);                              // version
        bytes(2, 4);                              // length
        bytes(9, 10);                             // protocol
        bytes(12, kUdpOffset);                    // addresses
        bytes(kUdpOffset + 2, kUdpOffset + 6);    // destination port, length
        bytes(kBthOffset, kBthOffset + 2);        // opcode, pad
        bytes(kBthOffset + 5, kBthOffset + 8);    // destination QP
        bytes(kDethOffset, kCsaOffset);           // Q_Key, source QP
        bytes(kCsaOffset, kCsaOffset + 3);        // magic, version, type
        bytes(kCsaOffset + 4, kCsaOffset + 5);    // spray, class, order
        bytes(kCsaOffset + 6, kCsaOffset + 20);   // epoch to chunk
        bytes(kCsaOffset + 22, kCsaOffset + 24);  // pkt_total
        return same;
    }();

    Block common_[kBlocks] = {};
    std::uint64_t rest_ = 0;
    std::size_t length_ = SIZE_MAX;  // SIZE_MAX: nothing is known
};

}  // namespace csaud::wire
