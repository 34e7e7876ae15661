// A socket that packets over IPv6 come by, and the IPv4 header that the core gets them with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "../file_descriptor.hpp"
#include "../receive_batch.hpp"
#include "names.hpp"

namespace csaud::device::ip6 {

class Inlet {
  public:
    // `port`: which one the packets are for, of a UDP socket, which leaves UDP's header out; 0: a raw socket
    // delivers it. Packets of `packet_bytes` from the core's IPv4 header on.
    Inlet(FileDescriptor fd, std::uint16_t port, std::size_t batch, std::size_t packet_bytes);

    // Takes what waits for the address `own`, at most a batch; returns how many packets. They live until the
    // next call.
    std::size_t receive(const Names& names, const in6_addr& own);

    // From the IPv4 header on, between names. The length there is that of the packet as it came; if it was
    // cut to fit, the slot is shorter and the core sees it.
    std::span<std::byte> packet(std::size_t index) { return batch_.slot(index); }
    const in6_addr& source(std::size_t index) const { return batch_.source(index).sin6_addr; }

    std::size_t capacity() const { return batch_.capacity(); }
    const FileDescriptor& fd() const { return fd_; }
    std::uint64_t drops() const;

  private:
    FileDescriptor fd_;
    std::uint16_t port_;
    BasicReceiveBatch<sockaddr_in6> batch_;
    std::uint64_t foreign_drops_;  // while a raw socket still took every packet of the machine
};

}  // namespace csaud::device::ip6
