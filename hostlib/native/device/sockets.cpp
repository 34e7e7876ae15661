#include "sockets.hpp"

#include <arpa/inet.h>
#include <linux/membarrier.h>
#include <linux/sock_diag.h>
#include <linux/udp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace csaud::device {
namespace {

int number_in(const cmsghdr* message) {
    int number = 0;
    std::memcpy(&number, CMSG_DATA(message), sizeof number);
    return number;
}

}  // namespace

void throw_errno(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

sockaddr_in make_address(std::uint32_t ipv4, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(ipv4);
    return address;
}

sockaddr_in6 make_address(const in6_addr& ipv6, std::uint16_t port) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    address.sin6_addr = ipv6;
    return address;
}

std::string to_text(std::uint32_t ipv4) {
    std::array<char, INET_ADDRSTRLEN> text{};
    const in_addr address{htonl(ipv4)};
    inet_ntop(AF_INET, &address, text.data(), text.size());
    return text.data();
}

std::string to_text(const in6_addr& ipv6) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(AF_INET6, &ipv6, text.data(), text.size());
    return text.data();
}

FileDescriptor open_socket(int type, int protocol, const std::string& what, int family) {
    FileDescriptor fd(::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
    if (!fd) throw_errno(what);
    return fd;
}

void set_option(const FileDescriptor& fd, int level, int name, int value, const std::string& what) {
    if (::setsockopt(fd.get(), level, name, &value, sizeof value) != 0) throw_errno(what);
}

void ignore_path_mtu(const FileDescriptor& fd, int family) {
    if (family == AF_INET6)
        set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE, "set IPV6_MTU_DISCOVER");
    else
        set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE, "set IP_MTU_DISCOVER");
}

int grow_receive_buffer(const FileDescriptor& fd, int bytes) {
    // SO_RCVBUFFORCE needs CAP_NET_ADMIN; without it the system's limit (net.core.rmem_max) holds.
    if (::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        set_option(fd, SOL_SOCKET, SO_RCVBUF, bytes, "set SO_RCVBUF");
    int granted = 0;
    socklen_t size = sizeof granted;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &granted, &size) != 0) throw_errno("get SO_RCVBUF");
    return granted;
}

void discard_queued(const FileDescriptor& fd) {
    // The kernel delivers within RCU's read side, and returns from this when all who were there have left.
    ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
    while (::recv(fd.get(), nullptr, 0, MSG_TRUNC) >= 0 || errno == EINTR) {
    }
}

void put_control(msghdr& header, ControlRoom& room, int family, std::uint8_t tos, std::uint16_t segment) {
    const int value = tos;
    header.msg_control = room.bytes.data();
    header.msg_controllen = CMSG_SPACE(sizeof value) + (segment == 0 ? 0 : CMSG_SPACE(sizeof segment));
    cmsghdr* message = CMSG_FIRSTHDR(&header);
    message->cmsg_level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
    message->cmsg_type = family == AF_INET ? IP_TOS : IPV6_TCLASS;
    message->cmsg_len = CMSG_LEN(sizeof value);
    std::memcpy(CMSG_DATA(message), &value, sizeof value);
    if (segment == 0) return;
    message = reinterpret_cast<cmsghdr*>(room.bytes.data() + CMSG_SPACE(sizeof value));
    message->cmsg_level = IPPROTO_UDP;
    message->cmsg_type = UDP_SEGMENT;
    message->cmsg_len = CMSG_LEN(sizeof segment);
    std::memcpy(CMSG_DATA(message), &segment, sizeof segment);
}

Control get_control(msghdr& header) {
    Control control;
    for (cmsghdr* message = CMSG_FIRSTHDR(&header); message != nullptr;
         message = CMSG_NXTHDR(&header, message)) {
        // The kernel reports IPv4's as one byte, the others as numbers.
        if (message->cmsg_level == IPPROTO_IP && message->cmsg_type == IP_TOS)
            control.tos = *CMSG_DATA(message);
        if (message->cmsg_level == IPPROTO_IP && message->cmsg_type == IP_TTL)
            control.ttl = number_in(message);
        if (message->cmsg_level == IPPROTO_IPV6 && message->cmsg_type == IPV6_TCLASS)
            control.tos = static_cast<std::uint8_t>(number_in(message));
        if (message->cmsg_level == IPPROTO_UDP && message->cmsg_type == UDP_GRO)
            control.segment = static_cast<std::size_t>(std::max(number_in(message), 0));
    }
    return control;
}

std::uint64_t receive_queue_drops(const FileDescriptor& fd) {
    std::array<std::uint32_t, SK_MEMINFO_VARS> info{};
    socklen_t size = sizeof info;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_MEMINFO, info.data(), &size) != 0)
        throw_errno("get SO_MEMINFO");
    return info[SK_MEMINFO_DROPS];
}

}  // namespace csaud::device
