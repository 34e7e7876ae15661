// sendmmsg over the core's packets: each is gathered from its three pieces, nothing is copied here.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "device.hpp"
#include "file_descriptor.hpp"
#include "sockets.hpp"

namespace csaud::device {

// A piece of a message: sendmmsg does not write through it, iovec only has no const form.
iovec piece(const std::byte* data, std::size_t size);

// The UDP destination port that the core wrote into the packet.
std::uint16_t destination_port(const TxPacket& packet);

// The address and port that the core wrote into the packet.
sockaddr_in written_destination(const TxPacket& packet);

// What one sendmmsg did: none sent and `done`: the kernel refuses the first message.
struct Attempt {
    std::size_t sent = 0;
    SendResult result = SendResult::done;
    int refusal = 0;  // errno
};
Attempt send_messages(const FileDescriptor& fd, std::span<mmsghdr> messages);

class SendBatch {
  public:
    // At most `count` packets a call. `skip` bytes at the front of each packet are left to the kernel, which
    // writes them itself (the IPv4 and UDP headers of a UDP socket). With `segmentation` packets of one
    // length to one place go as one datagram that the kernel cuts (UDP_SEGMENT), until it refuses that.
    // `destination` says where a packet goes.
    SendBatch(std::size_t count, std::size_t skip, bool segmentation,
              std::function<sockaddr_in(const TxPacket&)> destination = written_destination);

    void set_segmentation(bool on) { segmentation_ = on; }

    // `errors` is raised by one for each packet that the kernel refuses for good.
    Sent send(const FileDescriptor& fd, std::span<const TxPacket> packets, std::uint64_t& errors);

  private:
    static constexpr std::size_t kPieces = 3;

    // Packets [first, first + packets) in one message of the system call.
    struct Train {
        std::size_t first = 0;
        std::size_t packets = 0;
        std::size_t length = 0;  // of all but the last one
        std::size_t bytes = 0;
        sockaddr_in destination{};
    };

    std::size_t fill(std::span<const TxPacket> packets);
    bool joins(const Train&, const TxPacket& first, const TxPacket& packet,
               const sockaddr_in& destination) const;
    void finish(std::size_t place, const Train&, const TxPacket& packet);
    SendResult flush(const FileDescriptor& fd, std::size_t count, std::size_t& taken, std::uint64_t& errors);

    std::size_t skip_;
    bool segmentation_;
    std::function<sockaddr_in(const TxPacket&)> destination_;
    std::vector<std::array<iovec, kPieces>> pieces_;  // by packet
    std::vector<Train> trains_;                       // by message
    std::vector<sockaddr_in> destinations_;
    std::vector<ControlRoom> control_;  // where the kernel writes the IPv4 header
    std::vector<mmsghdr> messages_;
};

}  // namespace csaud::device
