// The IPv4 and UDP headers of a packet that came without them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace csaud::device {

struct IpHeaders {
    std::size_t length = 0;                     // of the packet, from the IPv4 header on
    std::uint32_t source = 0, destination = 0;  // addresses in host byte order
    std::uint16_t source_port = 0, destination_port = 0;
    std::uint16_t id = 0;
    std::uint8_t tos = 0;
    std::uint8_t ttl = 64;
};

// Writes the 28 bytes as a sender that sets DF would have; both checksums are 0, which nobody checks.
void write_ip_headers(std::byte* at, const IpHeaders&);

}  // namespace csaud::device
