#include "icrc.hpp"

#include <algorithm>
#include <cstdint>

#include "csaud_host/base/byte_order.hpp"
#include "csaud_host/base/crc32.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud::device::ip6 {
namespace {

constexpr std::size_t kLrhBytes = 8;  // ones in place of InfiniBand's LRH, with which it begins
constexpr std::size_t kUdpAndBth = wire::kUdpBytes + wire::kBthBytes;
constexpr std::byte kOnes{0xFF};

}  // namespace

std::array<std::byte, 4> icrc(const in6_addr& source, const in6_addr& destination,
                              std::span<const std::byte> udp, std::span<const std::byte> more,
                              std::span<const std::byte> last) noexcept {
    std::array<std::byte, kLrhBytes + kHeaderBytes + kUdpAndBth> begin;
    std::ranges::fill(begin, kOnes);
    std::byte* ip = begin.data() + kLrhBytes;
    put8(ip, 0x6F);                                // version 6; traffic class and flow label count as ones
    std::ranges::copy(udp.subspan(4, 2), ip + 4);  // the payload is the UDP datagram
    put8(ip + 6, IPPROTO_UDP);                     // then the hop limit, as ones
    std::ranges::copy(std::as_bytes(std::span(source.s6_addr)), ip + 8);
    std::ranges::copy(std::as_bytes(std::span(destination.s6_addr)), ip + 24);
    std::byte* const copy = ip + kHeaderBytes;
    std::ranges::copy(udp.first(kUdpAndBth), copy);
    for (const std::size_t at : {std::size_t{6}, std::size_t{7}, wire::kUdpBytes + 4})
        copy[at] = kOnes;  // UDP's checksum, resv8a of BTH

    std::uint32_t crc = crc32(0, begin);
    if (udp.size() > kUdpAndBth) crc = crc32(crc, udp.subspan(kUdpAndBth));
    if (!more.empty()) crc = crc32(crc, more);
    if (!last.empty()) crc = crc32(crc, last);
    std::array<std::byte, 4> wire;
    for (std::size_t i = 0; i < wire.size(); ++i) put8(wire.data() + i, crc >> (8 * i));
    return wire;
}

}  // namespace csaud::device::ip6
