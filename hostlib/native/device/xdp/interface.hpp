// The network interface that has an IPv4 address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "send_ring.hpp"

namespace csaud::device::xdp {

struct Interface {
    std::string name;
    int index = 0;
    MacAddress address{};
    std::size_t mtu = 0;  // bytes from the IPv4 header on
    unsigned queues = 1;  // of sending
};

// Throws std::system_error: EADDRNOTAVAIL where no interface has it, EOPNOTSUPP where that is no Ethernet.
Interface find_interface(std::uint32_t ipv4);

}  // namespace csaud::device::xdp
