// Where frames to each peer go: the Ethernet address of the next hop, kept up to date from the kernel's
// tables.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "csaud_host/endpoint/endpoint.hpp"
#include "interface.hpp"
#include "netlink.hpp"

namespace csaud::device::xdp {

class NextHops {
  public:
    // `source`: the address that packets come from.
    NextHops(const Interface& interface, std::uint32_t source) : interface_(interface), source_(source) {}

    // Finds the way to a peer, waiting for ARP for a short while. Throws std::runtime_error where it does not
    // lead through the interface.
    void prepare(std::uint32_t ipv4);

    // nullptr: not known; the kernel was asked to find it. Never waits.
    const EthernetAddresses* find(std::uint32_t ipv4, Nanos now);

    // Now and then, and when watch() is readable: takes over what has changed, and has the kernel check the
    // neighbours that frames went to.
    void refresh(Nanos now);
    int watch() const { return netlink_.watch(); }

  private:
    struct Hop {
        EthernetAddresses addresses;
        std::uint32_t next_hop = 0;
        bool routed = false;
        bool known = false;
        bool fixed = false;
        bool used = false;   // since the kernel last heard of it
        Nanos asked_at = 0;  // when the kernel was last asked to find it
    };

    Hop& look_up(std::uint32_t ipv4);
    bool resolve(Hop& hop, std::uint32_t ipv4);

    Interface interface_;
    std::uint32_t source_;
    Netlink netlink_;
    std::unordered_map<std::uint32_t, Hop> hops_;  // by destination
    std::uint32_t last_ipv4_ = 0;
    Hop* last_ = nullptr;
    Nanos checked_at_ = 0;
};

}  // namespace csaud::device::xdp
