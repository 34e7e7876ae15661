#include "sockets.hpp"

#include <arpa/inet.h>
#include <linux/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "../cache_line.hpp"
#include "../packet_filter.hpp"
#include "csaud_host/wire/wire.hpp"
#include "icrc.hpp"

namespace csaud::device::ip6 {
namespace {

constexpr int kSendBuffer = 4 << 20;

sockaddr_in6 make_address(const in6_addr& address, std::uint16_t port) {
    sockaddr_in6 made{};
    made.sin6_family = AF_INET6;
    made.sin6_port = htons(port);
    made.sin6_addr = address;
    return made;
}

FileDescriptor open_socket(int type, int protocol, const std::string& what) {
    FileDescriptor fd(::socket(AF_INET6, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
    if (!fd) throw_errno(what);
    return fd;
}

// Nothing is cut in pieces on the way.
void prepare_sending(const FileDescriptor& fd) {
    set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO, "set IPV6_MTU_DISCOVER");
    set_option(fd, IPPROTO_IPV6, IPV6_DONTFRAG, 1, "set IPV6_DONTFRAG");
    set_option(fd, SOL_SOCKET, SO_SNDBUF, kSendBuffer, "set SO_SNDBUF");
}

// The traffic class (ECN) is told.
void prepare_receiving(const FileDescriptor& fd, const Config& config) {
    set_option(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1, "set IPV6_RECVTCLASS");
    grow_receive_buffer(fd, config.receive_buffer);
}

// What IPV6_RECVERR has queued: left there it would make the socket look ready, and the next calls fail. True:
// there was something.
bool forget_reports(const FileDescriptor& fd) {
    std::array<std::byte, 64> report{};
    bool any = false;
    while (::recv(fd.get(), report.data(), report.size(), MSG_ERRQUEUE | MSG_DONTWAIT) >= 0) any = true;
    return any;
}

void bind_to(const FileDescriptor& fd, const Config& config, std::uint16_t port) {
    const sockaddr_in6 local = make_address(config.address, port);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0)
        throw_errno("bind to " + to_text(config.address) + " port " + std::to_string(port));
}

iovec piece(const std::byte* data, std::size_t size) {  // sendmmsg does not write through it
    return {const_cast<std::byte*>(data), size};
}

void put_traffic_class(msghdr& header, ControlRoom& room, std::uint8_t tos) {
    const int value = tos;
    header.msg_control = room.bytes.data();
    header.msg_controllen = CMSG_SPACE(sizeof value);
    cmsghdr* message = CMSG_FIRSTHDR(&header);
    message->cmsg_level = IPPROTO_IPV6;
    message->cmsg_type = IPV6_TCLASS;
    message->cmsg_len = CMSG_LEN(sizeof value);
    std::memcpy(CMSG_DATA(message), &value, sizeof value);
}

}  // namespace

std::string to_text(const in6_addr& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(AF_INET6, &address, text.data(), text.size());
    return text.data();
}

FileDescriptor open_raw_receiver(const Config& config) {
    FileDescriptor fd = open_socket(SOCK_RAW, IPPROTO_UDP, "open a raw socket");
    // Until now it took every UDP packet of the machine; from here on the queue holds nothing but ours.
    attach_qpn_filter(fd, config.qpn, Ports::both, Begin::udp);
    discard_queued(fd);
    prepare_receiving(fd, config);
    bind_to(fd, config, 0);
    return fd;
}

FileDescriptor open_raw_sender(const Config& config) {
    FileDescriptor fd = open_socket(SOCK_RAW, IPPROTO_UDP, "open a raw socket");
    attach_drop_all_filter(fd);
    discard_queued(fd);
    prepare_sending(fd);
    // Without it the kernel hides that the interface's queue was full, and a local drop looks like one in the
    // fabric.
    set_option(fd, IPPROTO_IPV6, IPV6_RECVERR, 1, "set IPV6_RECVERR");
    bind_to(fd, config, 0);
    return fd;
}

FileDescriptor open_port(const Config& config, std::uint16_t port) {
    FileDescriptor fd = open_socket(SOCK_DGRAM, 0, "open a UDP socket");
    // RoCEv2 has no UDP checksum over IPv6 either: the iCRC is there.
    set_option(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, 1, "set UDP_NO_CHECK6_TX");
    set_option(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1, "set UDP_NO_CHECK6_RX");
    prepare_sending(fd);
    prepare_receiving(fd, config);
    bind_to(fd, config, port);
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
        const auto port = static_cast<std::uint16_t>((std::to_integer<unsigned>(udp[2]) << 8) |
                                                     std::to_integer<unsigned>(udp[3]));
        destinations_[i] = make_address(*to, ports_are_ours ? std::uint16_t{0} : port);
        put_traffic_class(messages_[i].msg_hdr, control_[i], std::to_integer<std::uint8_t>(head[1]));
    }
    return most;
}

SendResult SendBatch::flush(const FileDescriptor& fd, std::size_t count, std::size_t& taken,
                            std::uint64_t& errors) {
    bool again = false;
    while (taken < count) {
        const int sent = ::sendmmsg(fd.get(), messages_.data() + taken, static_cast<unsigned>(count - taken),
                                    MSG_DONTWAIT);
        if (sent > 0) {
            taken += static_cast<std::size_t>(sent);
            again = false;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return SendResult::blocked;
        } else if (errno == ENOBUFS || errno == ENOMEM) {
            return SendResult::starved;
        } else if (errno != EINTR) {
            // Perhaps it is not about this packet, but what ICMP said of another one, of another process even.
            again = forget_reports(fd) && !again;
            if (again) continue;
            ++errors;  // no route, too long: the peer will be missed, and this says why
            ++taken;
        }
    }
    return SendResult::done;
}

ReceiveBatch::ReceiveBatch(std::size_t count, std::size_t bytes, std::size_t headroom)
    : headroom_(headroom),
      stride_(in_cache_lines(bytes + headroom)),
      storage_(count * stride_),
      pieces_(count),
      sources_(count),
      control_(count),
      messages_(count) {
    for (std::size_t i = 0; i < count; ++i) {
        pieces_[i] = {storage_.data() + i * stride_ + headroom_, stride_ - headroom_};
        msghdr& header = messages_[i].msg_hdr;
        header.msg_name = &sources_[i];
        header.msg_iov = &pieces_[i];
        header.msg_iovlen = 1;
        header.msg_control = control_[i].bytes.data();
    }
}

std::size_t ReceiveBatch::receive(const FileDescriptor& fd) {
    for (mmsghdr& message : messages_) {
        message.msg_hdr.msg_namelen = sizeof(sockaddr_in6);
        message.msg_hdr.msg_controllen = sizeof(ControlRoom::bytes);
    }
    for (;;) {
        const int count = ::recvmmsg(fd.get(), messages_.data(), static_cast<unsigned>(messages_.size()),
                                     MSG_DONTWAIT | MSG_TRUNC, nullptr);
        if (count >= 0) return static_cast<std::size_t>(count);
        if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
        if (errno != EINTR) throw_errno("receive packets");
    }
}

std::span<std::byte> ReceiveBatch::slot(std::size_t index) {
    return {storage_.data() + index * stride_, std::min(length(index), stride_)};
}

std::uint8_t ReceiveBatch::traffic_class(std::size_t index) {
    msghdr& header = messages_[index].msg_hdr;
    for (cmsghdr* message = CMSG_FIRSTHDR(&header); message != nullptr;
         message = CMSG_NXTHDR(&header, message)) {
        if (message->cmsg_level != IPPROTO_IPV6 || message->cmsg_type != IPV6_TCLASS) continue;
        int value = 0;
        std::memcpy(&value, CMSG_DATA(message), sizeof value);
        return static_cast<std::uint8_t>(value);
    }
    return 0;
}

}  // namespace csaud::device::ip6
