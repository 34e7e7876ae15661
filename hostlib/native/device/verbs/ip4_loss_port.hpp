// The port of cut packets over IPv4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "loss_port.hpp"

namespace csaud::device::verbs {

// See AddressFamily::open_loss_port.
std::unique_ptr<LossPort> open_ip4_loss_port(std::uint32_t ipv4, std::uint32_t qpn, std::size_t packet_bytes,
                                             std::size_t batch);

}  // namespace csaud::device::verbs
