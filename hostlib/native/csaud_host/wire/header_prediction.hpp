// Header prediction (Jacobson's, of TCP): packets of one message have most bytes of their headers in common,
// so one that has those of a packet that was taken apart and found right needs no more than a comparison, and
// what packets differ in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "csaud_host/base/byte_order.hpp"
#include "csaud_host/wire/header_pattern.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud::wire {

inline constexpr HeaderBytes kSameInMessage = same_in({
    {0, 1},                             // version
    {2, 4},                             // length
    {9, 10},                            // protocol
    {12, kUdpOffset},                   // addresses
    {kUdpOffset + 2, kUdpOffset + 6},   // destination port, length
    {kBthOffset, kBthOffset + 2},       // opcode, pad
    {kBthOffset + 5, kBthOffset + 8},   // destination QP
    {kDethOffset, kCsaOffset},          // Q_Key, source QP
    {kCsaOffset, kCsaOffset + 3},       // magic, version, type
    {kCsaOffset + 4, kCsaOffset + 5},   // spray, class, order
    {kCsaOffset + 6, kCsaOffset + 20},  // epoch to chunk
    {kCsaOffset + 22, kCsaOffset + 24}  // pkt_total
});

class HeaderPrediction {
  public:
    // The headers of a DATA packet that was taken.
    void learn(std::span<const std::byte> packet) noexcept {
        length_ = get16(packet.data() + 2);
        common_.learn(packet.data());
    }
    void forget() noexcept { length_ = SIZE_MAX; }

    // Is it one more of that message, of the same length? It has room for headers.
    bool matches(std::span<const std::byte> packet) const noexcept {
        return packet.size() >= length_ && common_.matches(packet.data());
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
    HeaderPattern<kSameInMessage> common_;
    std::size_t length_ = SIZE_MAX;  // SIZE_MAX: nothing is known
};

}  // namespace csaud::wire
