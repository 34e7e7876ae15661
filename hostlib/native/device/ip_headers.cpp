#include "ip_headers.hpp"

#include <netinet/in.h>

#include "csaud_host/base/byte_order.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud::device {

void write_ip_headers(std::byte* at, const IpHeaders& headers) {
    constexpr unsigned kVersionAndLength = 0x45;
    constexpr unsigned kDontFragment = 0x4000;
    put8(at, kVersionAndLength);
    put8(at + 1, headers.tos);
    put16(at + 2, static_cast<unsigned>(headers.length));
    put16(at + 4, headers.id);
    put16(at + 6, kDontFragment);
    put8(at + 8, headers.ttl);
    put8(at + 9, IPPROTO_UDP);
    put16(at + 10, 0);
    put32(at + 12, headers.source);
    put32(at + 16, headers.destination);
    std::byte* udp = at + wire::kIpv4Bytes;
    put16(udp, headers.source_port);
    put16(udp + 2, headers.destination_port);
    put16(udp + 4, static_cast<unsigned>(headers.length - wire::kIpv4Bytes));
    put16(udp + 6, 0);
}

}  // namespace csaud::device
