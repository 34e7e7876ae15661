// Classic BPF programs that the kernel runs on each packet before it queues it for a socket.
#pragma once

#include <cstdint>

#include "file_descriptor.hpp"

namespace csaud::device {

// The RoCE port's packets are somebody else's, of an RDMA device, where only those of the LOSS port pass.
enum class Ports : std::uint8_t { both, loss };

// Where what the socket delivers begins: IPv6's raw sockets leave the IP header out.
enum class Begin : std::uint8_t { ipv4, udp };

// For a raw IPPROTO_UDP socket, which would see every UDP packet of the machine: lets pass packets to the
// RoCE or the LOSS port whose BTH names queue pair `qpn`, and those to these ports that are too short to name
// one (so that somebody counts them). Several ranks share an address in this way.
void attach_qpn_filter(const FileDescriptor& fd, std::uint32_t qpn, Ports ports, Begin begin = Begin::ipv4);

// Lets nothing pass.
void attach_drop_all_filter(const FileDescriptor& fd);

}  // namespace csaud::device
