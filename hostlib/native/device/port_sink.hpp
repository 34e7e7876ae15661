// A UDP socket that takes a port and throws away what comes: a raw socket alone does not make the port
// "reachable", and the kernel would answer every packet with an ICMP error.
#pragma once

#include <cstdint>

#include "file_descriptor.hpp"

namespace csaud::device {

// Several may be open at once.
FileDescriptor open_sink(std::uint32_t ipv4, std::uint16_t port);

}  // namespace csaud::device
