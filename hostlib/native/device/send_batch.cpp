#include "send_batch.hpp"

#include <algorithm>
#include <cerrno>

#include "sockets.hpp"
#include "wire.hpp"

namespace csaud::device {
namespace {

// The UDP destination port that the core wrote into the packet.
std::uint16_t destination_port(const TxPacket& packet) {
    const std::byte* port = packet.head.data() + wire::kIpv4Bytes + 2;
    return static_cast<std::uint16_t>((std::to_integer<unsigned>(port[0]) << 8) |
                                      std::to_integer<unsigned>(port[1]));
}

// sendmmsg does not write through these pointers; iovec only has no const form.
iovec piece(const std::byte* data, std::size_t size) {
    return {const_cast<std::byte*>(data), size};
}

}  // namespace

SendBatch::SendBatch(std::size_t count, std::size_t skip)
    : skip_(skip), pieces_(count), destinations_(count), tos_(skip == 0 ? 0 : count), messages_(count) {
    for (std::size_t i = 0; i < count; ++i) {
        msghdr& header = messages_[i].msg_hdr;
        header.msg_name = &destinations_[i];
        header.msg_namelen = sizeof(sockaddr_in);
        header.msg_iov = pieces_[i].data();
        header.msg_iovlen = kPieces;
    }
}

Sent SendBatch::send(const FileDescriptor& fd, std::span<const TxPacket> packets, std::uint64_t& errors) {
    Sent sent;
    while (sent.taken < packets.size() && sent.result == SendResult::done) {
        const std::size_t count = std::min(messages_.size(), packets.size() - sent.taken);
        fill(packets.subspan(sent.taken, count));
        std::size_t taken = 0;
        sent.result = flush(fd, count, taken, errors);
        sent.taken += taken;
    }
    return sent;
}

void SendBatch::fill(std::span<const TxPacket> packets) {
    for (std::size_t i = 0; i < packets.size(); ++i) {
        const TxPacket& packet = packets[i];
        pieces_[i] = {piece(packet.head.data() + skip_, packet.head_len - skip_),
                      piece(packet.payload.data(), packet.payload.size()),
                      piece(packet.tail.data(), packet.tail_len)};
        destinations_[i] = make_address(packet.dst_ipv4, destination_port(packet));
        if (skip_ != 0) put_tos(messages_[i].msg_hdr, tos_[i], std::to_integer<std::uint8_t>(packet.head[1]));
    }
}

SendResult SendBatch::flush(const FileDescriptor& fd, std::size_t count, std::size_t& taken,
                            std::uint64_t& errors) {
    while (taken < count) {
        const int sent = ::sendmmsg(fd.get(), messages_.data() + taken, static_cast<unsigned>(count - taken),
                                    MSG_DONTWAIT);
        if (sent > 0) {
            taken += static_cast<std::size_t>(sent);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return SendResult::blocked;
        } else if (errno == ENOBUFS || errno == ENOMEM) {
            return SendResult::starved;
        } else if (errno != EINTR) {
            // No route, no such link, too long: the peer will be missed, and this says why.
            ++errors;
            ++taken;
        }
    }
    return SendResult::done;
}

}  // namespace csaud::device
