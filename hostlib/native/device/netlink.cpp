#include "netlink.hpp"

#include <arpa/inet.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "sockets.hpp"

namespace csaud::device {
namespace {

constexpr int kHasAddress = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP;

FileDescriptor open_netlink(std::uint32_t groups, int flags) {
    FileDescriptor fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | flags, NETLINK_ROUTE));
    if (!fd) throw_errno("open a netlink socket");
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_groups = groups;
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        throw_errno("bind a netlink socket");
    return fd;
}

// The attribute of a type behind a message's fixed part, or nullptr.
template <class Body>
const rtattr* find(const nlmsghdr* message, unsigned short type) {
    const auto* at = reinterpret_cast<const rtattr*>(static_cast<const std::byte*>(NLMSG_DATA(message)) +
                                                     NLMSG_ALIGN(sizeof(Body)));
    auto left = static_cast<unsigned>(message->nlmsg_len - NLMSG_LENGTH(NLMSG_ALIGN(sizeof(Body))));
    for (; left >= sizeof(rtattr) && at->rta_len >= sizeof(rtattr) && at->rta_len <= left;) {
        if (at->rta_type == type) return at;
        const unsigned step = RTA_ALIGN(at->rta_len);
        if (step >= left) break;
        left -= step;
        at = reinterpret_cast<const rtattr*>(reinterpret_cast<const std::byte*>(at) + step);
    }
    return nullptr;
}

std::uint32_t word(const rtattr* attribute) {
    std::uint32_t value = 0;
    std::memcpy(&value, RTA_DATA(attribute), sizeof value);
    return value;
}

}  // namespace

struct Netlink::Address {
    rtattr attribute{};
    std::uint32_t address = 0;

    Address(unsigned short type, std::uint32_t ipv4) : address(htonl(ipv4)) {
        attribute.rta_type = type;
        attribute.rta_len = RTA_LENGTH(sizeof address);
    }
};

// One question: its fixed part and addresses.
template <class Body, std::size_t count>
struct Netlink::Request {
    nlmsghdr header{};
    Body body{};
    std::array<Address, count> addresses;

    Request(std::uint16_t type, std::uint16_t flags, const std::array<Address, count>& asked)
        : addresses(asked) {
        header.nlmsg_len = sizeof *this;
        header.nlmsg_type = type;
        header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    }
};

Netlink::Netlink()
    : questions_(open_netlink(0, 0)),
      events_(open_netlink(RTMGRP_NEIGH | RTMGRP_IPV4_ROUTE, SOCK_NONBLOCK)) {}

// The kernel answers while it is asked, so the answer is there. False: it is an error.
template <class Body, std::size_t count>
bool Netlink::exchange(Request<Body, count>& request, std::uint16_t answer_type) {
    request.header.nlmsg_seq = ++sequence_;
    if (::send(questions_.get(), &request, sizeof request, 0) < 0) return false;
    for (;;) {
        const ssize_t bytes = ::recv(questions_.get(), answer_.data(), answer_.size(), MSG_DONTWAIT);
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes < static_cast<ssize_t>(sizeof(nlmsghdr))) return false;
        const auto* message = reinterpret_cast<const nlmsghdr*>(answer_.data());
        if (message->nlmsg_seq != sequence_) continue;
        answer_bytes_ = static_cast<std::size_t>(bytes);
        return message->nlmsg_type == answer_type && message->nlmsg_len <= answer_bytes_;
    }
}

std::optional<Route> Netlink::route(std::uint32_t source, std::uint32_t destination) {
    Request<rtmsg, 2> request(RTM_GETROUTE, 0, {Address(RTA_DST, destination), Address(RTA_SRC, source)});
    request.body.rtm_family = AF_INET;
    request.body.rtm_dst_len = request.body.rtm_src_len = 32;
    if (!exchange(request, RTM_NEWROUTE)) return std::nullopt;
    const auto* message = reinterpret_cast<const nlmsghdr*>(answer_.data());
    const auto* body = static_cast<const rtmsg*>(NLMSG_DATA(message));
    if (body->rtm_type != RTN_UNICAST && body->rtm_type != RTN_LOCAL) return std::nullopt;
    const rtattr* interface = find<rtmsg>(message, RTA_OIF);
    if (interface == nullptr) return std::nullopt;
    const rtattr* gateway = find<rtmsg>(message, RTA_GATEWAY);
    return Route{static_cast<int>(word(interface)), gateway == nullptr ? destination : ntohl(word(gateway)),
                 body->rtm_type == RTN_LOCAL, find<rtmsg>(message, RTA_VIA) != nullptr};
}

std::optional<Neighbour> Netlink::neighbour(int interface_index, std::uint32_t ipv4) {
    Request<ndmsg, 1> request(RTM_GETNEIGH, 0, {Address(NDA_DST, ipv4)});
    request.body.ndm_family = AF_INET;
    request.body.ndm_ifindex = interface_index;
    if (!exchange(request, RTM_NEWNEIGH)) return std::nullopt;
    const auto* message = reinterpret_cast<const nlmsghdr*>(answer_.data());
    const auto* body = static_cast<const ndmsg*>(NLMSG_DATA(message));
    const rtattr* address = find<ndmsg>(message, NDA_LLADDR);
    if ((body->ndm_state & kHasAddress) == 0 || address == nullptr) return std::nullopt;
    Neighbour found;
    if (RTA_PAYLOAD(address) != found.address.size()) return std::nullopt;
    std::memcpy(found.address.data(), RTA_DATA(address), found.address.size());
    found.fixed = (body->ndm_state & (NUD_PERMANENT | NUD_NOARP)) != 0;
    return found;
}

void Netlink::use(int interface_index, std::uint32_t ipv4) {
    Request<ndmsg, 1> request(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_ACK, {Address(NDA_DST, ipv4)});
    request.body.ndm_family = AF_INET;
    request.body.ndm_ifindex = interface_index;
    request.body.ndm_state = NUD_NONE;
    request.body.ndm_flags = NTF_USE;
    exchange(request, NLMSG_ERROR);
}

bool Netlink::changed() {
    bool found = false;
    for (;;) {
        const ssize_t bytes = ::recv(events_.get(), answer_.data(), answer_.size(), MSG_DONTWAIT | MSG_TRUNC);
        if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return found;
        // ENOBUFS: some were lost, so anything may have changed.
        if (bytes < 0 && errno != EINTR && errno != ENOBUFS) return found;
        found = true;
    }
}

}  // namespace csaud::device
