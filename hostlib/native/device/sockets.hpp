// Small pieces that every socket of the soft device needs. Errors are std::system_error with the failed call
// and the address in their message.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "file_descriptor.hpp"

namespace csaud::device {

// UDP ports of RoCEv2 and of trimmed packets (type LOSS).
inline constexpr std::uint16_t kRocePort = 4791;
inline constexpr std::uint16_t kLossPort = 49791;

// Bytes that a socket which sends has room for: several batches; the kernel's own limit holds where it is
// lower.
inline constexpr int kSendBuffer = 4 << 20;

// Of a train of packets that the kernel cuts (UDP_SEGMENT): packets, where kernels have the lowest bound, and
// bytes of UDP payload.
inline constexpr std::size_t kMostSegments = 64;
inline constexpr std::size_t kLongestDatagram = 65'507;

// Throws std::system_error for errno, with `what` in front of its text.
[[noreturn]] void throw_errno(const std::string& what);

// IPv4 addresses are in host byte order, as in the core.
sockaddr_in make_address(std::uint32_t ipv4, std::uint16_t port);
sockaddr_in6 make_address(const in6_addr& ipv6, std::uint16_t port);
std::string to_text(std::uint32_t ipv4);
std::string to_text(const in6_addr& ipv6);

// Non-blocking, closed on exec.
FileDescriptor open_socket(int type, int protocol, const std::string& what, int family = AF_INET);

// `address`: of either family, as make_address takes it.
template <typename Address>
void bind_to(const FileDescriptor& fd, const Address& address, std::uint16_t port) {
    const auto local = make_address(address, port);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0)
        throw_errno("bind to " + to_text(address) + " port " + std::to_string(port));
}

void set_option(const FileDescriptor& fd, int level, int name, int value, const std::string& what);

// Packets are cut nowhere (DF), and may be as long as the interface's MTU, whatever ICMP says of the path:
// any stranger can send that, and the kernel would refuse all longer packets for ten minutes. A job's own
// path MTU is agreed on beforehand.
void ignore_path_mtu(const FileDescriptor& fd, int family = AF_INET);

// Asks for a receive buffer of `bytes`, beyond the system's limit where the process may; returns what it got.
int grow_receive_buffer(const FileDescriptor& fd, int bytes);

// Throws away what waits to be received, and what was under way into the queue before the call, by a filter
// that holds no more, say. Takes some 10 ms, where the kernel has it (else a packet may come after all).
void discard_queued(const FileDescriptor& fd);

// Room for what the kernel of a UDP socket tells, or is told, beside the data: TOS, TTL, and where it cuts a
// train of packets or has merged one.
struct alignas(cmsghdr) ControlRoom {
    std::array<std::byte, 3 * CMSG_SPACE(sizeof(int))> bytes{};
};

// Asks the kernel to send the message with this TOS (IPv6's traffic class), cut into packets of `segment`
// bytes (0: not at all).
void put_control(msghdr& header, ControlRoom& room, int family, std::uint8_t tos, std::uint16_t segment);

struct Control {
    std::uint8_t tos = 0;     // 0: not told
    int ttl = 0;              // 0: not told
    std::size_t segment = 0;  // bytes of each packet but the last one; 0: it is one packet
};
Control get_control(msghdr& header);

// Packets that the kernel dropped because the socket's receive queue was full, since the socket was opened.
// Read where it is asked for, and exact then: SO_RXQ_OVFL would tell it only with the next packet.
std::uint64_t receive_queue_drops(const FileDescriptor& fd);

}  // namespace csaud::device
