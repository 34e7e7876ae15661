#include "sockets.hpp"

#include <linux/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "csaud_host/wire/wire.hpp"
#include "icrc.hpp"

namespace csaud::device::ip6 {
namespace {

// Nothing is cut in pieces on the way.
void prepare_sending(const FileDescriptor& fd) {
    ignore_path_mtu(fd, AF_INET6);
    set_option(fd, IPPROTO_IPV6, IPV6_DONTFRAG, 1, "set IPV6_DONTFRAG");
    set_option(fd, SOL_SOCKET, SO_SNDBUF, kSendBuffer, "set SO_SNDBUF");
}

// The traffic class (ECN) is told.
void prepare_receiving(const FileDescriptor& fd, const Config& config) {
    set_option(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1, "set IPV6_RECVTCLASS");
    grow_receive_buffer(fd, config.receive_buffer);
}

// What IPV6_RECVERR has queued: left there it would make the socket look ready, and the next calls fail.
// True: there was something.
bool forget_reports(const FileDescriptor& fd) {
    std::array<std::byte, 64> report{};
    bool any = false;
    while (::recv(fd.get(), report.data(), report.size(), MSG_ERRQUEUE | MSG_DONTWAIT) >= 0) any = true;
    return any;
}

}  // namespace

FileDescriptor open_raw_receiver(const Config& config, Ports ports) {
    FileDescriptor fd = open_socket(SOCK_RAW, IPPROTO_UDP, "open a raw socket", AF_INET6);
    // Until now it took every UDP packet of the machine; from here on the queue holds nothing but ours.
    attach_qpn_filter(fd, config.qpn, ports, Begin::udp);
    discard_queued(fd);
    prepare_receiving(fd, config);
    bind_to(fd, config.address, 0);
    return fd;
}

FileDescriptor open_raw_sender(const Config& config) {
    FileDescriptor fd = open_socket(SOCK_RAW, IPPROTO_UDP, "open a raw socket", AF_INET6);
    attach_drop_all_filter(fd);
    discard_queued(fd);
    prepare_sending(fd);
    // Without it the kernel hides that the interface's queue was full, and a local drop looks like one in the
    // fabric.
    set_option(fd, IPPROTO_IPV6, IPV6_RECVERR, 1, "set IPV6_RECVERR");
    bind_to(fd, config.address, 0);
    return fd;
}

FileDescriptor open_port(const Config& config, std::uint16_t port) {
    FileDescriptor fd = open_socket(SOCK_DGRAM, 0, "open a UDP socket", AF_INET6);
    // RoCEv2 has no UDP checksum over IPv6 either: the iCRC is there.
    set_option(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, 1, "set UDP_NO_CHECK6_TX");
    set_option(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1, "set UDP_NO_CHECK6_RX");
    prepare_sending(fd);
    prepare_receiving(fd, config);
    bind_to(fd, config.address, port);
    return fd;
}

SendBatch::SendBatch(std::size_t count, std::size_t skip)
    : skip_(skip), pieces_(count), icrcs_(count), destinations_(count), control_(count), messages_(count) {
    for (std::size_t i = 0; i < count; ++i) {
        msghdr& header = messages_[i].msg_hdr;
        header.msg_name = &destinations_[i];
        header.msg_namelen = sizeof(sockaddr_in6);
        header.msg_iov = pieces_[i].data();
        header.msg_iovlen = kPieces;
    }
}

Sent SendBatch::send(const FileDescriptor& fd, const in6_addr& from, const Names& names,
                     std::span<const TxPacket> packets, std::uint64_t& errors) {
    Sent sent;
    while (sent.taken < packets.size() && sent.result == SendResult::done) {
        const std::size_t count = fill(from, names, packets.subspan(sent.taken));
        if (count == 0) {
            ++errors;
            ++sent.taken;
            continue;
        }
        std::size_t taken = 0;
        sent.result = flush(fd, count, taken, errors);
        sent.taken += taken;
    }
    return sent;
}

// Returns the number of messages; they end before a packet that is for nobody.
std::size_t SendBatch::fill(const in6_addr& from, const Names& names, std::span<const TxPacket> packets) {
    const std::size_t most = std::min(messages_.size(), packets.size());
    for (std::size_t i = 0; i < most; ++i) {
        const TxPacket& packet = packets[i];
        const in6_addr* to = names.address_of(packet.dst_ipv4);
        if (to == nullptr) return i;
        const auto head = std::span(packet.head).first(packet.head_len);
        const auto udp = head.subspan(wire::kIpv4Bytes);
        const auto tail = std::span(packet.tail).first(packet.tail_len - wire::kIcrcBytes);
        icrcs_[i] = icrc(from, *to, udp, packet.payload, tail);
        pieces_[i] = {piece(head.data() + skip_, head.size() - skip_),
                      piece(packet.payload.data(), packet.payload.size()), piece(tail.data(), tail.size()),
                      piece(icrcs_[i].data(), icrcs_[i].size())};
        // A raw socket takes the port for the number of a protocol.
        const bool ports_are_ours = skip_ == wire::kIpv4Bytes;
        destinations_[i] = make_address(*to, ports_are_ours ? std::uint16_t{0} : destination_port(packet));
        put_control(messages_[i].msg_hdr, control_[i], AF_INET6, std::to_integer<std::uint8_t>(head[1]), 0);
    }
    return most;
}

SendResult SendBatch::flush(const FileDescriptor& fd, std::size_t count, std::size_t& taken,
                            std::uint64_t& errors) {
    bool again = false;
    while (taken < count) {
        const Attempt now = send_messages(fd, std::span(messages_).subspan(taken, count - taken));
        if (now.result != SendResult::done) return now.result;
        taken += now.sent;
        // Perhaps it is not about this packet, but what ICMP said of another one, of another process even.
        again = now.sent == 0 && forget_reports(fd) && !again;
        if (now.sent > 0 || again) continue;
        ++errors;  // no route, too long: the peer will be missed, and this says why
        ++taken;
    }
    return SendResult::done;
}

}  // namespace csaud::device::ip6
