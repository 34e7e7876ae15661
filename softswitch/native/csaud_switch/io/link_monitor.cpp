#include "csaud_switch/io/link_monitor.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <system_error>

namespace csaud::sw {

namespace {

// The attribute's type and length macros of the kernel's headers cast in C's way; these do the same.
std::string interface_name(const nlmsghdr& message) {
    const auto* bytes = reinterpret_cast<const char*>(&message);
    std::size_t at = NLMSG_LENGTH(NLMSG_ALIGN(sizeof(ifinfomsg)));
    while (at + sizeof(rtattr) <= message.nlmsg_len) {
        const auto& attribute = *reinterpret_cast<const rtattr*>(bytes + at);
        if (attribute.rta_len < sizeof(rtattr) || at + attribute.rta_len > message.nlmsg_len) break;
        if (attribute.rta_type == IFLA_IFNAME) return bytes + at + sizeof(rtattr);
        at += NLMSG_ALIGN(attribute.rta_len);
    }
    return {};
}

void parse(const char* data, std::size_t size, std::vector<InterfaceChange>& changes) {
    std::size_t at = 0;
    while (at + sizeof(nlmsghdr) <= size) {
        const auto& message = *reinterpret_cast<const nlmsghdr*>(data + at);
        if (message.nlmsg_len < sizeof(nlmsghdr) || at + message.nlmsg_len > size) return;
        const bool link = message.nlmsg_type == RTM_NEWLINK || message.nlmsg_type == RTM_DELLINK;
        if (link && message.nlmsg_len >= NLMSG_LENGTH(sizeof(ifinfomsg))) {
            const auto& info = *reinterpret_cast<const ifinfomsg*>(data + at + NLMSG_HDRLEN);
            changes.push_back({info.ifi_index, interface_name(message)});
        }
        at += NLMSG_ALIGN(message.nlmsg_len);
    }
}

}  // namespace

LinkMonitor::LinkMonitor() {
    fd_ = ::socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_groups = RTMGRP_LINK;
    if (fd_ >= 0 && ::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return;
    const int error = errno;
    if (fd_ >= 0) ::close(fd_);
    throw std::system_error(error, std::generic_category(), "rtnetlink socket");
}

LinkMonitor::~LinkMonitor() {
    ::close(fd_);
}

bool LinkMonitor::read(std::vector<InterfaceChange>& changes) {
    alignas(nlmsghdr) std::array<char, 32768> bytes;
    bool complete = true;
    for (;;) {
        const ssize_t size = ::recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_TRUNC);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno != ENOBUFS) return complete;
        if (size < 0 || static_cast<std::size_t>(size) > bytes.size()) {
            complete = false;
            continue;
        }
        parse(bytes.data(), static_cast<std::size_t>(size), changes);
    }
}

}  // namespace csaud::sw
