// What of a verbs device depends on whether its packets are RoCEv2 over IPv4 or over IPv6.
//
// The core tells ranks apart by 32-bit addresses: IPv4's own, or names of IPv6 addresses (ip6/names.hpp). The
// device knows GIDs, which are IPv6 addresses or IPv4 ones mapped into them, and writes and checks the
// packets' IP headers itself.
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "ip6/names.hpp"
#include "ip_headers.hpp"
#include "loss_port.hpp"

namespace csaud::device::verbs {

inline constexpr std::size_t kGrhBytes = 40;

class AddressFamily {
  public:
    virtual ~AddressFamily() = default;

    // The job's IPv6 addresses, this rank's among them, in place of those before. While nobody drives the
    // device. Throws std::invalid_argument where addresses have no names.
    virtual void set_names(ip6::Names names) = 0;

    // The GID of an address of the core; nothing: it is nobody's.
    virtual std::optional<in6_addr> gid_of(std::uint32_t address) const = 0;

    // What the IP header in the GRH of a receive says, between addresses of the core; the length is left
    // open. Nothing: there is no such header.
    virtual std::optional<IpHeaders> headers_in(const std::byte* grh) const = 0;

    // Of the queue pair `qpn`; nullptr where another process of this machine has the port and this one no
    // privileges: its losses are then found by the other detectors. Not longer than this object.
    virtual std::unique_ptr<LossPort> open_loss_port(std::uint32_t qpn, std::size_t packet_bytes,
                                                     std::size_t batch) const = 0;
};

// That of a device's own GID.
std::unique_ptr<AddressFamily> address_family(const in6_addr& gid);

}  // namespace csaud::device::verbs
