#include "next_hops.hpp"

#include <net/if.h>
#include <poll.h>

#include <array>
#include <stdexcept>
#include <string>

#include "clock.hpp"
#include "sockets.hpp"

namespace csaud::device::xdp {
namespace {

constexpr Nanos kArpPatience = kSecond;          // of prepare()
constexpr Nanos kAskAgain = 100 * kMillisecond;  // between two questions for an unknown neighbour
constexpr Nanos kCheckEvery = 10 * kSecond;      // the kernel's own neighbours go stale after 30 s

std::string name_of(int index) {
    std::array<char, IF_NAMESIZE> name{};
    return ::if_indextoname(static_cast<unsigned>(index), name.data()) == nullptr ? "none" : name.data();
}

}  // namespace

NextHops::Hop& NextHops::look_up(std::uint32_t ipv4) {
    if (last_ != nullptr && last_ipv4_ == ipv4) return *last_;
    last_ = &hops_[ipv4];  // stays where it is
    last_ipv4_ = ipv4;
    return *last_;
}

void NextHops::prepare(std::uint32_t ipv4) {
    const auto route = netlink_.route(source_, ipv4);
    const std::string through = "mode=xdp sends through interface " + interface_.name + ", but ";
    if (!route) throw std::runtime_error(through + "there is no route to " + to_text(ipv4));
    if (route->local) throw std::runtime_error(through + to_text(ipv4) + " is an address of this machine");
    if (route->interface_index != interface_.index)
        throw std::runtime_error(through + "the route to " + to_text(ipv4) + " leads through " +
                                 name_of(route->interface_index));
    if (route->by_ipv6)
        throw std::runtime_error(through + "the route to " + to_text(ipv4) +
                                 " leads through a gateway of IPv6");
    Hop& hop = look_up(ipv4);
    for (const Nanos until = monotonic_now() + kArpPatience; !resolve(hop, ipv4);) {
        if (monotonic_now() >= until) return;  // packets to it are refused until it shows up
        netlink_.use(interface_.index, hop.next_hop);
        pollfd event{netlink_.watch(), POLLIN, 0};
        ::poll(&event, 1, static_cast<int>(kAskAgain / kMillisecond));
        netlink_.changed();
    }
}

bool NextHops::resolve(Hop& hop, std::uint32_t ipv4) {
    const auto route = netlink_.route(source_, ipv4);
    hop.routed = route && !route->local && !route->by_ipv6 && route->interface_index == interface_.index;
    // What was known holds until something else is: a peer that is restarted answers no ARP meanwhile.
    if (!hop.routed) return hop.known = false;
    hop.next_hop = route->next_hop;
    const auto neighbour = netlink_.neighbour(interface_.index, hop.next_hop);
    if (neighbour) hop.addresses = {neighbour->address, interface_.address};
    hop.known = hop.known || neighbour;
    hop.fixed = neighbour && neighbour->fixed;
    return hop.known;
}

const EthernetAddresses* NextHops::find(std::uint32_t ipv4, Nanos now) {
    Hop& hop = look_up(ipv4);
    if (!hop.known && (hop.asked_at == 0 || now - hop.asked_at >= kAskAgain)) {
        hop.asked_at = now;
        if (!resolve(hop, ipv4) && hop.routed) netlink_.use(interface_.index, hop.next_hop);
    }
    if (!hop.known) return nullptr;
    hop.used = true;
    return &hop.addresses;
}

void NextHops::refresh(Nanos now) {
    if (netlink_.changed())
        for (auto& [ipv4, hop] : hops_) resolve(hop, ipv4);
    if (now - checked_at_ < kCheckEvery) return;
    checked_at_ = now;
    for (auto& [ipv4, hop] : hops_) {
        if (!hop.used || !hop.routed || hop.fixed) continue;
        hop.used = false;
        netlink_.use(interface_.index, hop.next_hop);
    }
}

}  // namespace csaud::device::xdp
