#include "udp_device.hpp"

#include <linux/udp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "sockets.hpp"

namespace csaud::device {
namespace {

// Where no switch is in between, nothing comes to the LOSS port, and looking costs as much as at the other
// one.
constexpr unsigned kLossSeldom = 8;

FileDescriptor open_port(const DeviceConfig& config, std::uint16_t port) {
    FileDescriptor fd = open_socket(SOCK_DGRAM, 0, "open a UDP socket");
    // Sets DF, too; an unconnected socket then sends IP id 0, which the core put into the iCRC.
    ignore_path_mtu(fd);
    set_option(fd, IPPROTO_IP, IP_RECVTOS, 1, "set IP_RECVTOS");
    if (config.segmentation) {
        // The kernel cuts only what has a checksum; a device makes it, or nobody where none is asked for.
        set_option(fd, IPPROTO_UDP, UDP_GRO, 1, "set UDP_GRO");
    } else {
        set_option(fd, SOL_SOCKET, SO_NO_CHECK, 1, "set SO_NO_CHECK");
    }
    set_option(fd, SOL_SOCKET, SO_SNDBUF, kSendBuffer, "set SO_SNDBUF");
    grow_receive_buffer(fd, config.receive_buffer);
    bind_to(fd, config.ipv4, port);
    return fd;
}

// Bytes of the longest datagram that the socket may deliver.
std::size_t longest(const DeviceConfig& config) {
    return config.segmentation ? Datagrams::kLongestTrain : config.packet_bytes;
}

}  // namespace

UdpDevice::UdpDevice(const DeviceConfig& config)
    : SocketDevice(open_port(config, kRocePort), config.batch, Datagrams::kHeadroom, config.segmentation),
      ipv4_(config.ipv4),
      loss_(open_port(config, kLossPort)),
      loss_every_(config.segmentation ? kLossSeldom : 1),
      roce_batch_(config.segmentation ? Datagrams::kTrains : config.batch, longest(config),
                  Datagrams::kHeadroom),
      loss_batch_(config.batch, config.packet_bytes, Datagrams::kHeadroom) {
    received_.reserve(2 * config.batch);
}

Received UdpDevice::receive() {
    received_.clear();
    const std::size_t losses = ++looks_ % loss_every_ == 0 ? receive_from(loss_, kLossPort, loss_batch_) : 0;
    const std::size_t others = receive_from(tx(), kRocePort, roce_batch_);
    return {received_.packets(), losses == loss_batch_.capacity() || others == roce_batch_.capacity()};
}

std::size_t UdpDevice::receive_from(const FileDescriptor& fd, std::uint16_t port, ReceiveBatch& batch) {
    const std::size_t count = batch.receive(fd);
    for (std::size_t i = 0; i < count; ++i) {
        const sockaddr_in& source = batch.source(i);
        const Control control = batch.control(i);
        // As the sender's kernel wrote them; TOS, TTL and checksums are not in the iCRC. The length is that
        // of the packet as it came; if it was cut to fit, the slot is shorter and the core sees it.
        IpHeaders headers{.length = batch.length(i),
                          .source = ntohl(source.sin_addr.s_addr),
                          .destination = ipv4_,
                          .source_port = ntohs(source.sin_port),
                          .destination_port = port,
                          .tos = control.tos};
        const bool train = control.segment != 0;
        Datagrams::cut(batch.slot(i), control.segment, [&](std::span<std::byte> packet, bool first) {
            if (train) headers.length = packet.size();
            received_.add(packet, headers, first);
        });
    }
    return count;
}

void UdpDevice::watch(std::vector<pollfd>& list, bool writable) const {
    list.push_back({tx().get(), static_cast<short>(writable ? POLLIN | POLLOUT : POLLIN), 0});
    list.push_back({loss_.get(), POLLIN, 0});
}

std::uint64_t UdpDevice::receive_drops() const {
    return receive_queue_drops(tx()) + receive_queue_drops(loss_);
}

}  // namespace csaud::device
