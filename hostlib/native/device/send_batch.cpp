#include "send_batch.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "csaud_host/wire/wire.hpp"
#include "sockets.hpp"

namespace csaud::device {
namespace {

// Whether that may be for its being a train; that there is no way at the moment is not.
bool refuses_trains(int error) {
    return error == EINVAL || error == EIO || error == EMSGSIZE || error == EOPNOTSUPP;
}

}  // namespace

iovec piece(const std::byte* data, std::size_t size) {
    return {const_cast<std::byte*>(data), size};
}

std::uint16_t destination_port(const TxPacket& packet) {
    const std::byte* port = packet.head.data() + wire::kIpv4Bytes + 2;
    return static_cast<std::uint16_t>((std::to_integer<unsigned>(port[0]) << 8) |
                                      std::to_integer<unsigned>(port[1]));
}

Attempt send_messages(const FileDescriptor& fd, std::span<mmsghdr> messages) {
    int sent = 0;
    do {
        sent = ::sendmmsg(fd.get(), messages.data(), static_cast<unsigned>(messages.size()), MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    if (sent > 0) return {static_cast<std::size_t>(sent), SendResult::done};
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {0, SendResult::blocked};
    if (errno == ENOBUFS || errno == ENOMEM) return {0, SendResult::starved};
    return {0, SendResult::done, errno};
}

sockaddr_in written_destination(const TxPacket& packet) {
    return make_address(packet.dst_ipv4, destination_port(packet));
}

SendBatch::SendBatch(std::size_t count, std::size_t skip, bool segmentation,
                     std::function<sockaddr_in(const TxPacket&)> destination)
    : skip_(skip),
      segmentation_(segmentation),
      destination_(std::move(destination)),
      pieces_(count),
      trains_(count),
      destinations_(count),
      control_(skip == 0 ? 0 : count),
      messages_(count) {
    for (std::size_t i = 0; i < count; ++i) {
        msghdr& header = messages_[i].msg_hdr;
        header.msg_name = &destinations_[i];
        header.msg_namelen = sizeof(sockaddr_in);
    }
}

Sent SendBatch::send(const FileDescriptor& fd, std::span<const TxPacket> packets, std::uint64_t& errors) {
    Sent sent;
    while (sent.taken < packets.size() && sent.result == SendResult::done) {
        const std::size_t count = std::min(messages_.size(), packets.size() - sent.taken);
        const std::size_t messages = fill(packets.subspan(sent.taken, count));
        std::size_t taken = 0;
        sent.result = flush(fd, messages, taken, errors);
        sent.taken += taken;
    }
    return sent;
}

// Returns the number of messages.
std::size_t SendBatch::fill(std::span<const TxPacket> packets) {
    std::size_t messages = 0;
    Train train;
    for (std::size_t i = 0; i < packets.size(); ++i) {
        const TxPacket& packet = packets[i];
        pieces_[i] = {piece(packet.head.data() + skip_, packet.head_len - skip_),
                      piece(packet.payload.data(), packet.payload.size()),
                      piece(packet.tail.data(), packet.tail_len)};
        const std::size_t length = packet.size() - skip_;
        const sockaddr_in destination = destination_(packet);
        if (train.packets != 0 && joins(train, packets[train.first], packet, destination)) {
            ++train.packets;
            train.bytes += length;
            continue;
        }
        if (train.packets != 0) finish(messages++, train, packets[train.first]);
        train = {i, 1, length, length, destination};
    }
    if (train.packets != 0) finish(messages++, train, packets[train.first]);
    return messages;
}

// A shorter packet ends a train: what comes after it would be cut in the wrong places.
bool SendBatch::joins(const Train& train, const TxPacket& first, const TxPacket& packet,
                      const sockaddr_in& destination) const {
    if (!segmentation_ || train.packets == kMostSegments) return false;
    const std::size_t length = packet.size() - skip_;
    return train.bytes == train.packets * train.length && length <= train.length &&
           train.bytes + length <= kLongestDatagram && packet.head[1] == first.head[1] &&
           destination.sin_addr.s_addr == train.destination.sin_addr.s_addr &&
           destination.sin_port == train.destination.sin_port;
}

void SendBatch::finish(std::size_t place, const Train& train, const TxPacket& packet) {
    trains_[place] = train;
    msghdr& header = messages_[place].msg_hdr;
    header.msg_iov = pieces_[train.first].data();
    header.msg_iovlen = train.packets * kPieces;
    destinations_[place] = train.destination;
    if (skip_ == 0) return;
    const auto segment = static_cast<std::uint16_t>(train.packets > 1 ? train.length : 0);
    put_control(header, control_[place], AF_INET, std::to_integer<std::uint8_t>(packet.head[1]), segment);
}

SendResult SendBatch::flush(const FileDescriptor& fd, std::size_t count, std::size_t& taken,
                            std::uint64_t& errors) {
    for (std::size_t done = 0; done < count;) {
        const Attempt now = send_messages(fd, std::span(messages_).subspan(done, count - done));
        if (now.result != SendResult::done) return now.result;
        for (std::size_t i = 0; i < now.sent; ++i) taken += trains_[done++].packets;
        if (now.sent > 0) continue;
        if (trains_[done].packets > 1 && refuses_trains(now.refusal)) {  // packet by packet from now on
            segmentation_ = false;
            return SendResult::done;
        }
        // No route, no such link, too long: the peer will be missed, and this says why.
        errors += trains_[done].packets;
        taken += trains_[done].packets;
        ++done;
    }
    return SendResult::done;
}

}  // namespace csaud::device
