// Slots for one recvmmsg call.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "file_descriptor.hpp"
#include "sockets.hpp"

namespace csaud::device {

// `Address`: sockaddr_in or sockaddr_in6, as the socket's family has it.
template <typename Address>
class BasicReceiveBatch {
  public:
    // `count` slots for packets of `bytes` each, with `headroom` bytes in front of each for a header that the
    // socket does not deliver. A longer packet is cut: slot() is then shorter than length().
    BasicReceiveBatch(std::size_t count, std::size_t bytes, std::size_t headroom);

    // Takes what waits in the socket, at most all slots; returns how many. 0: nothing waits.
    std::size_t receive(const FileDescriptor& fd);

    std::size_t capacity() const { return messages_.size(); }
    std::size_t headroom() const { return headroom_; }
    // The headroom and the packet in slot `index`.
    std::span<std::byte> slot(std::size_t index);
    // Bytes of the headroom and the packet as it came.
    std::size_t length(std::size_t index) const { return headroom_ + messages_[index].msg_len; }
    // What the socket was asked to tell (IP_RECVTOS, IPV6_RECVTCLASS, UDP_GRO).
    Control control(std::size_t index) { return get_control(messages_[index].msg_hdr); }
    std::uint8_t tos(std::size_t index) { return control(index).tos; }
    const Address& source(std::size_t index) const { return sources_[index]; }

  private:
    std::size_t headroom_;
    std::size_t stride_;
    std::vector<std::byte> storage_;
    std::vector<iovec> pieces_;
    std::vector<Address> sources_;
    std::vector<ControlRoom> control_;
    std::vector<mmsghdr> messages_;
};

extern template class BasicReceiveBatch<sockaddr_in>;
extern template class BasicReceiveBatch<sockaddr_in6>;
using ReceiveBatch = BasicReceiveBatch<sockaddr_in>;

}  // namespace csaud::device
