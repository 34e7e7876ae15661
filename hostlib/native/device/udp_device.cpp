#include "udp_device.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include "ip_headers.hpp"
#include "sockets.hpp"
#include "wire.hpp"

namespace csaud::device {
namespace {

constexpr std::size_t kIpv4AndUdp = wire::kIpv4Bytes + wire::kUdpBytes;
constexpr int kSendBuffer = 4 << 20;
constexpr unsigned kLossEvery = 8;

FileDescriptor open_port(const DeviceConfig& config, std::uint16_t port) {
    FileDescriptor fd = open_socket(SOCK_DGRAM, 0, "open a UDP socket");
    // Sets DF; an unconnected socket then sends IP id 0, which the core put into the iCRC.
    set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO, "set IP_MTU_DISCOVER");
    set_option(fd, IPPROTO_IP, IP_RECVTOS, 1, "set IP_RECVTOS");
    set_option(fd, SOL_SOCKET, SO_NO_CHECK, 1, "set SO_NO_CHECK");
    set_option(fd, SOL_SOCKET, SO_SNDBUF, kSendBuffer, "set SO_SNDBUF");
    grow_receive_buffer(fd, config.receive_buffer);
    const sockaddr_in local = make_address(config.ipv4, port);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0)
        throw_errno("bind to " + to_text(config.ipv4) + " port " + std::to_string(port));
    return fd;
}

}  // namespace

UdpDevice::UdpDevice(const DeviceConfig& config)
    : ipv4_(config.ipv4),
      roce_(open_port(config, kRocePort)),
      loss_(open_port(config, kLossPort)),
      send_batch_(config.batch, kIpv4AndUdp),
      roce_batch_(config.batch, config.packet_bytes, kIpv4AndUdp),
      loss_batch_(config.batch, config.packet_bytes, kIpv4AndUdp) {
    packets_.reserve(2 * config.batch);
}

Sent UdpDevice::send(std::span<const TxPacket> packets) {
    std::uint64_t errors = 0;
    const Sent sent = send_batch_.send(roce_, packets, errors);
    tx_errors_ += errors;
    if (sent.result != SendResult::done) ++tx_blocked_;
    return sent;
}

Received UdpDevice::receive() {
    packets_.clear();
    // Few packets come there, and looking costs as much as at the other port.
    const std::size_t losses = ++looks_ % kLossEvery == 0 ? receive_from(loss_, kLossPort, loss_batch_) : 0;
    const std::size_t others = receive_from(roce_, kRocePort, roce_batch_);
    return {packets_, losses == loss_batch_.capacity() || others == roce_batch_.capacity()};
}

std::size_t UdpDevice::receive_from(const FileDescriptor& fd, std::uint16_t port, ReceiveBatch& batch) {
    const std::size_t count = batch.receive(fd);
    for (std::size_t i = 0; i < count; ++i) {
        const sockaddr_in& source = batch.source(i);
        // As the sender's kernel wrote them; TOS, TTL and checksums are not in the iCRC. The length is that
        // of the packet as it came; if it was cut to fit, the slot is shorter and the core sees it.
        write_ip_headers(batch.slot(i).data(), {.length = batch.length(i),
                                                .source = ntohl(source.sin_addr.s_addr),
                                                .destination = ipv4_,
                                                .source_port = ntohs(source.sin_port),
                                                .destination_port = port,
                                                .tos = batch.tos(i)});
        packets_.push_back(batch.slot(i));
    }
    return count;
}

void UdpDevice::watch(std::vector<pollfd>& list, bool writable) const {
    list.push_back({roce_.get(), static_cast<short>(writable ? POLLIN | POLLOUT : POLLIN), 0});
    list.push_back({loss_.get(), POLLIN, 0});
}

DeviceCounters UdpDevice::counters() const {
    return {receive_queue_drops(roce_) + receive_queue_drops(loss_), tx_errors_.load(), tx_blocked_.load()};
}

}  // namespace csaud::device
