// IPv6's sockets. Errors are std::system_error with the failed call and the address in their message.
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../device.hpp"
#include "../file_descriptor.hpp"
#include "../packet_filter.hpp"
#include "../send_batch.hpp"
#include "../sockets.hpp"
#include "names.hpp"

namespace csaud::device::ip6 {

struct Config {
    in6_addr address{};
    std::uint32_t qpn = 0;                  // raw: packets to other queue pairs are not ours
    std::size_t packet_bytes = 4096 + 128;  // longest packet, from the IPv4 header on that the core sees
    std::size_t batch = 32;                 // packets per system call
    int receive_buffer = 32 << 20;          // bytes, asked of the kernel
};

// Raw sockets for UDP packets from their UDP header on: one takes those for queue pair `qpn` and these ports
// alone, the other one sends, and takes none. Who sends is told (IPV6_RECVERR) of every ICMPv6 error about a
// UDP packet from this address, whosever it was; were it the same socket, receiving would fail by that.
FileDescriptor open_raw_receiver(const Config& config, Ports ports);
FileDescriptor open_raw_sender(const Config& config);

// A UDP socket at a port of RoCE.
FileDescriptor open_port(const Config& config, std::uint16_t port);

// The packets of one sendmmsg call. The kernel writes the IPv6 header, and in front of a UDP socket's data
// the UDP header: `skip` bytes of a packet of the core, from its IPv4 header on, stay behind. The iCRC is
// made here, over the headers that the packet will have.
class SendBatch {
  public:
    SendBatch(std::size_t count, std::size_t skip);

    // Packets for a name that is nobody's count in `errors`, as those that the kernel refuses.
    Sent send(const FileDescriptor& fd, const in6_addr& from, const Names& names,
              std::span<const TxPacket> packets, std::uint64_t& errors);

  private:
    static constexpr std::size_t kPieces = 4;  // head, payload, tail without iCRC, iCRC

    std::size_t fill(const in6_addr& from, const Names& names, std::span<const TxPacket> packets);
    SendResult flush(const FileDescriptor& fd, std::size_t count, std::size_t& taken, std::uint64_t& errors);

    std::size_t skip_;
    std::vector<std::array<iovec, kPieces>> pieces_;
    std::vector<std::array<std::byte, 4>> icrcs_;
    std::vector<sockaddr_in6> destinations_;
    std::vector<ControlRoom> control_;
    std::vector<mmsghdr> messages_;
};

}  // namespace csaud::device::ip6
