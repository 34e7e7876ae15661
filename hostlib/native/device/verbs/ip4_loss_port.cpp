#include "ip4_loss_port.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <utility>

#include "csaud_host/wire/wire.hpp"
#include "ip_headers.hpp"
#include "packet_filter.hpp"
#include "port_sink.hpp"
#include "receive_batch.hpp"
#include "sockets.hpp"

namespace csaud::device::verbs {
namespace {

bool bound(const FileDescriptor& fd, std::uint32_t ipv4, std::uint16_t port) {
    const sockaddr_in local = make_address(ipv4, port);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&local), sizeof local) == 0) return true;
    if (errno == EADDRINUSE) return false;
    throw_errno("bind to " + to_text(ipv4) + " port " + std::to_string(port));
}

// Nothing without CAP_NET_RAW.
FileDescriptor open_raw(std::uint32_t ipv4, std::uint32_t qpn) {
    FileDescriptor fd(::socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP));
    if (!fd && (errno == EPERM || errno == EACCES)) return fd;
    if (!fd) throw_errno("open a raw socket");
    // Until now it took every UDP packet of the machine; from here on the queue holds nothing but ours.
    attach_qpn_filter(fd, qpn, Ports::loss);
    discard_queued(fd);
    grow_receive_buffer(fd, kLossBuffer);
    bound(fd, ipv4, 0);
    return fd;
}

// Nothing where the port is taken.
FileDescriptor open_udp(std::uint32_t ipv4) {
    FileDescriptor fd = open_socket(SOCK_DGRAM, 0, "open a UDP socket");
    set_option(fd, IPPROTO_IP, IP_RECVTOS, 1, "set IP_RECVTOS");
    grow_receive_buffer(fd, kLossBuffer);
    if (!bound(fd, ipv4, kLossPort)) return {};
    return fd;
}

class Ip4LossPort final : public LossPort {
  public:
    // `fd`: a raw socket with its sink, or a UDP socket, which leaves the headers out.
    Ip4LossPort(std::uint32_t ipv4, FileDescriptor fd, FileDescriptor sink, std::size_t packet_bytes,
                std::size_t batch)
        : ipv4_(ipv4),
          fd_(std::move(fd)),
          sink_(std::move(sink)),
          batch_(batch, packet_bytes, sink_ ? 0 : wire::kIpv4Bytes + wire::kUdpBytes) {}

    std::size_t take(std::vector<Packet>& packets) override {
        const std::size_t count = batch_.receive(fd_);
        for (std::size_t i = 0; i < count; ++i) {
            if (!sink_) {
                const sockaddr_in& source = batch_.source(i);
                write_ip_headers(batch_.slot(i).data(), {.length = batch_.length(i),
                                                         .source = ntohl(source.sin_addr.s_addr),
                                                         .destination = ipv4_,
                                                         .source_port = ntohs(source.sin_port),
                                                         .destination_port = kLossPort,
                                                         .tos = batch_.tos(i)});
            }
            packets.push_back(batch_.slot(i));
        }
        return count;
    }

    int descriptor() const override { return fd_.get(); }
    std::uint64_t drops() const override { return receive_queue_drops(fd_); }

  private:
    std::uint32_t ipv4_;
    FileDescriptor fd_;
    FileDescriptor sink_;  // keeps the port reachable
    ReceiveBatch batch_;
};

}  // namespace

std::unique_ptr<LossPort> open_ip4_loss_port(std::uint32_t ipv4, std::uint32_t qpn, std::size_t packet_bytes,
                                             std::size_t batch) {
    FileDescriptor fd = open_raw(ipv4, qpn);
    FileDescriptor sink = fd ? open_sink(ipv4, kLossPort) : FileDescriptor();
    if (!fd) fd = open_udp(ipv4);
    if (!fd) return nullptr;
    return std::make_unique<Ip4LossPort>(ipv4, std::move(fd), std::move(sink), packet_bytes, batch);
}

}  // namespace csaud::device::verbs
