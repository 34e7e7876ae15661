// sendmmsg over the core's packets: each is gathered from its three pieces, nothing is copied here.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device.hpp"
#include "file_descriptor.hpp"
#include "sockets.hpp"

namespace csaud::device {

class SendBatch {
  public:
    // At most `count` packets a call. `skip` bytes at the front of each packet are left to the kernel, which
    // writes them itself (the IPv4 and UDP headers of a UDP socket).
    SendBatch(std::size_t count, std::size_t skip);

    // `errors` is raised by one for each packet that the kernel refuses for good.
    Sent send(const FileDescriptor& fd, std::span<const TxPacket> packets, std::uint64_t& errors);

  private:
    static constexpr std::size_t kPieces = 3;

    void fill(std::span<const TxPacket> packets);
    SendResult flush(const FileDescriptor& fd, std::size_t count, std::size_t& taken, std::uint64_t& errors);

    std::size_t skip_;
    std::vector<std::array<iovec, kPieces>> pieces_;
    std::vector<sockaddr_in> destinations_;
    std::vector<TosMessage> tos_;  // where the kernel writes the IPv4 header
    std::vector<mmsghdr> messages_;
};

}  // namespace csaud::device
