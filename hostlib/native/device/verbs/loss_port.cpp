#include "loss_port.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "ip_headers.hpp"
#include "sockets.hpp"
#include "wire.hpp"

namespace csaud::device::verbs {
namespace {

constexpr int kReceiveBuffer = 1 << 20;  // cut packets are short

FileDescriptor bind_port(std::uint32_t ipv4) {
    FileDescriptor fd = open_socket(SOCK_DGRAM, 0, "open a UDP socket");
    set_option(fd, IPPROTO_IP, IP_RECVTOS, 1, "set IP_RECVTOS");
    grow_receive_buffer(fd, kReceiveBuffer);
    const sockaddr_in local = make_address(ipv4, kLossPort);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&local), sizeof local) == 0) return fd;
    if (errno == EADDRINUSE) return {};
    throw_errno("bind to " + to_text(ipv4) + " port " + std::to_string(kLossPort));
}

}  // namespace

LossPort::LossPort(std::uint32_t ipv4, std::size_t packet_bytes, std::size_t batch)
    : ipv4_(ipv4), fd_(bind_port(ipv4)), batch_(batch, packet_bytes, wire::kIpv4Bytes + wire::kUdpBytes) {}

std::size_t LossPort::take(std::vector<Packet>& packets) {
    if (!open()) return 0;
    const std::size_t count = batch_.receive(fd_);
    for (std::size_t i = 0; i < count; ++i) {
        const sockaddr_in& source = batch_.source(i);
        write_ip_headers(batch_.slot(i).data(), {.length = batch_.length(i),
                                                 .source = ntohl(source.sin_addr.s_addr),
                                                 .destination = ipv4_,
                                                 .source_port = ntohs(source.sin_port),
                                                 .destination_port = kLossPort,
                                                 .tos = batch_.tos(i)});
        packets.push_back(batch_.slot(i));
    }
    return count;
}

std::uint64_t LossPort::drops() const {
    return open() ? receive_queue_drops(fd_) : 0;
}

}  // namespace csaud::device::verbs
