// The invariant CRC of RoCEv2 over IPv6 (InfiniBand Architecture Specification, annex A17).
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstddef>
#include <span>

namespace csaud::device::ip6 {

inline constexpr std::size_t kHeaderBytes = 40;

// As it goes on the wire (4 bytes, little-endian), of a packet between these addresses. `udp`: from the UDP
// header to the end of BTH at least; `more` and `last` follow it, without the iCRC itself.
std::array<std::byte, 4> icrc(const in6_addr& source, const in6_addr& destination,
                              std::span<const std::byte> udp, std::span<const std::byte> more,
                              std::span<const std::byte> last) noexcept;

}  // namespace csaud::device::ip6
