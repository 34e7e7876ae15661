// What devices ask of the kernel's routes and neighbours (rtnetlink).
#pragma once

#include <cstdint>
#include <optional>

#include "file_descriptor.hpp"
#include "mac_address.hpp"

namespace csaud::device {

struct Route {
    int interface_index = 0;
    std::uint32_t next_hop = 0;  // host byte order: a gateway, or the destination itself
    bool local = false;          // an address of this machine
    bool by_ipv6 = false;        // the gateway is known by an IPv6 address
};

struct Neighbour {
    MacAddress address{};
    bool fixed = false;  // somebody has set it, or the interface knows it without asking
};

class Netlink {
  public:
    // Questions about the network namespace of the calling thread. Throws std::system_error.
    Netlink();

    // The way of packets that have this source address. Nothing: there is none. No call waits for the
    // network.
    std::optional<Route> route(std::uint32_t source, std::uint32_t destination);
    // Nothing: the kernel knows no address.
    std::optional<Neighbour> neighbour(int interface_index, std::uint32_t ipv4);
    // Has the kernel find a neighbour (ARP), or see whether what it knows still holds. Not for fixed ones,
    // which would be so no longer.
    void use(int interface_index, std::uint32_t ipv4);

    // Whether neighbours or routes may have changed since the last call.
    bool changed();
    // Readable when changed() is worth asking.
    int watch() const { return events_.get(); }

  private:
    FileDescriptor questions_;
    FileDescriptor events_;
    std::uint32_t sequence_ = 0;

    struct Address;
    template <class Body, std::size_t count>
    struct Request;
    template <class Body, std::size_t count>
    bool exchange(Request<Body, count>& request, std::uint16_t answer_type);

    alignas(8) std::array<std::byte, 8192> answer_{};
    std::size_t answer_bytes_ = 0;
};

}  // namespace csaud::device
