#include "interface.hpp"

#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "file_descriptor.hpp"
#include "sockets.hpp"

namespace csaud::device::xdp {
namespace {

std::string name_of(std::uint32_t ipv4) {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) throw_errno("list the interfaces");
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
        if (reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr == htonl(ipv4))
            return one->ifa_name;
    }
    errno = EADDRNOTAVAIL;
    throw_errno("no interface has " + to_text(ipv4));
}

ifreq ask(const FileDescriptor& fd, unsigned long question, const std::string& name) {
    ifreq request{};
    std::ranges::copy(name.substr(0, IFNAMSIZ - 1), request.ifr_name);
    if (::ioctl(fd.get(), question, &request) != 0) throw_errno("ask interface " + name);
    return request;
}

// How many queues to try; one where the driver does not say.
unsigned count_queues(const FileDescriptor& fd, const std::string& name) {
    ethtool_channels channels{};
    channels.cmd = ETHTOOL_GCHANNELS;
    ifreq request{};
    std::ranges::copy(name.substr(0, IFNAMSIZ - 1), request.ifr_name);
    request.ifr_data = reinterpret_cast<char*>(&channels);
    if (::ioctl(fd.get(), SIOCETHTOOL, &request) != 0) return 1;
    return std::max(1U, std::max(channels.tx_count, channels.rx_count) + channels.combined_count);
}

}  // namespace

Interface find_interface(std::uint32_t ipv4) {
    const FileDescriptor fd = open_socket(SOCK_DGRAM, 0, "open a UDP socket");
    Interface found;
    found.name = name_of(ipv4);
    found.index = ask(fd, SIOCGIFINDEX, found.name).ifr_ifindex;
    found.mtu = static_cast<std::size_t>(ask(fd, SIOCGIFMTU, found.name).ifr_mtu);
    const ifreq hardware = ask(fd, SIOCGIFHWADDR, found.name);
    if (hardware.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
        errno = EOPNOTSUPP;
        throw_errno("interface " + found.name + " of " + to_text(ipv4) + " is no Ethernet");
    }
    std::memcpy(found.address.data(), hardware.ifr_hwaddr.sa_data, found.address.size());
    found.queues = count_queues(fd, found.name);
    return found;
}

}  // namespace csaud::device::xdp
