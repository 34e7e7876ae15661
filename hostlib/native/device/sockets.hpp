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

// Throws std::system_error for errno, with `what` in front of its text.
[[noreturn]] void throw_errno(const std::string& what);

// Addresses are in host byte order, as in the core.
sockaddr_in make_address(std::uint32_t ipv4, std::uint16_t port);
std::string to_text(std::uint32_t ipv4);

// An IPv4 socket: non-blocking, closed on exec.
FileDescriptor open_socket(int type, int protocol, const std::string& what);

void set_option(const FileDescriptor& fd, int level, int name, int value, const std::string& what);

// Asks for a receive buffer of `bytes`, beyond the system's limit where the process may; returns what it got.
int grow_receive_buffer(const FileDescriptor& fd, int bytes);

// Throws away what waits to be received.
void discard_queued(const FileDescriptor& fd);

// Room for what the kernel of a UDP socket tells, or is told, beside the data: TOS, and where it cuts a train
// of packets or has merged one.
struct alignas(cmsghdr) ControlRoom {
    std::array<std::byte, 2 * CMSG_SPACE(sizeof(int))> bytes{};
};

// Asks the kernel to send the message with this TOS, cut into packets of `segment` bytes (0: not at all).
void put_control(msghdr& header, ControlRoom& room, std::uint8_t tos, std::uint16_t segment);

struct Control {
    std::uint8_t tos = 0;     // 0: not told
    std::size_t segment = 0;  // bytes of each packet but the last one; 0: it is one packet
};
Control get_control(msghdr& header);

// Packets that the kernel dropped because the socket's receive queue was full, since the socket was opened.
// Read where it is asked for, and exact then: SO_RXQ_OVFL would tell it only with the next packet.
std::uint64_t receive_queue_drops(const FileDescriptor& fd);

}  // namespace csaud::device
