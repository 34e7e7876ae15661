#include "raw_device.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "packet_filter.hpp"
#include "port_sink.hpp"
#include "sockets.hpp"

namespace csaud::device {
namespace {

FileDescriptor open_sender(const DeviceConfig& config) {
    // IPPROTO_RAW means that the IPv4 header is ours (IP_HDRINCL).
    FileDescriptor fd = open_socket(SOCK_RAW, IPPROTO_RAW, "open a raw socket");
    ignore_path_mtu(fd);
    set_option(fd, SOL_SOCKET, SO_SNDBUF, kSendBuffer, "set SO_SNDBUF");
    // Without it the kernel hides that the interface's queue was full, and a local drop looks like one in the
    // fabric.
    set_option(fd, IPPROTO_IP, IP_RECVERR, 1, "set IP_RECVERR");
    // Routes by source address are looked up for an address that the socket has, whatever the header says.
    bind_to(fd, config.ipv4, 0);
    return fd;
}

FileDescriptor open_receiver(const DeviceConfig& config) {
    FileDescriptor fd = open_socket(SOCK_RAW, IPPROTO_UDP, "open a raw socket");
    // Until now it took every UDP packet of the machine; from here on the queue holds nothing but ours.
    attach_qpn_filter(fd, config.qpn, Ports::both);
    discard_queued(fd);
    grow_receive_buffer(fd, config.receive_buffer);
    bind_to(fd, config.ipv4, 0);
    return fd;
}

}  // namespace

RawDevice::RawDevice(const DeviceConfig& config)
    : SocketDevice(open_sender(config), config.batch, 0, false),
      rx_(open_receiver(config)),
      foreign_drops_(receive_queue_drops(rx_)),
      receive_batch_(config.batch, config.packet_bytes, 0) {
    for (const std::uint16_t port : {kRocePort, kLossPort}) sinks_.push_back(open_sink(config.ipv4, port));
    packets_.reserve(config.batch);
}

Received RawDevice::receive() {
    const std::size_t count = receive_batch_.receive(rx_);
    packets_.clear();
    for (std::size_t i = 0; i < count; ++i) packets_.push_back(receive_batch_.slot(i));
    return {packets_, count == receive_batch_.capacity()};
}

void RawDevice::watch(std::vector<pollfd>& list, bool writable) const {
    list.push_back({rx_.get(), POLLIN, 0});
    if (writable) list.push_back({tx().get(), POLLOUT, 0});
}

std::uint64_t RawDevice::receive_drops() const {
    return receive_queue_drops(rx_) - foreign_drops_;
}

// IP_RECVERR queues a report for each packet that was refused; unread, they would make the socket look ready.
void RawDevice::refused() {
    std::array<std::byte, 64> report{};
    while (::recv(tx().get(), report.data(), report.size(), MSG_ERRQUEUE | MSG_DONTWAIT) >= 0) {
    }
}

}  // namespace csaud::device
