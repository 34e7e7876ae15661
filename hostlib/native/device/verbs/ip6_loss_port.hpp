// The port of cut packets over IPv6.
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ip6/names.hpp"
#include "loss_port.hpp"

namespace csaud::device::verbs {

// See AddressFamily::open_loss_port. `names` are read whenever packets come.
std::unique_ptr<LossPort> open_ip6_loss_port(const in6_addr& address, const ip6::Names& names,
                                             std::uint32_t qpn, std::size_t packet_bytes, std::size_t batch);

}  // namespace csaud::device::verbs
