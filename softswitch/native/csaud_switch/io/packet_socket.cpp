#include "csaud_switch/io/packet_socket.hpp"

#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace csaud::sw {

namespace {

constexpr int kReceiveBuffer = 64 << 20;  // bytes, of the kernel's accounting
constexpr int kSendBuffer = 16 << 20;
constexpr std::size_t kMacs = 12;  // bytes of the two addresses, before a VLAN tag
constexpr std::uint32_t kVlanTag = 4;

[[noreturn]] void raise(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

// The kernel takes a VLAN tag out of the frame and tells it apart; a program must see the frame as it was.
void restore_vlan_tag(msghdr& header, Packet& packet) {
    const cmsghdr* control = CMSG_FIRSTHDR(&header);
    if (control == nullptr || control->cmsg_level != SOL_PACKET || control->cmsg_type != PACKET_AUXDATA)
        return;
    tpacket_auxdata aux{};
    std::memcpy(&aux, CMSG_DATA(control), sizeof aux);
    if ((aux.tp_status & TP_STATUS_VLAN_VALID) == 0 || packet.length < kMacs) return;
    const std::uint16_t protocol =
        (aux.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0 ? aux.tp_vlan_tpid : ETH_P_8021Q;
    packet.start -= kVlanTag;  // of the headroom
    packet.length += kVlanTag;
    std::uint8_t* frame = packet.data();
    std::memmove(frame, frame + kVlanTag, kMacs);
    const std::uint16_t tag[2] = {htons(protocol), htons(aux.tp_vlan_tci)};
    std::memcpy(frame + kMacs, tag, kVlanTag);
}

}  // namespace

struct PacketSocket::Batch {
    std::array<mmsghdr, kBatch> headers{};
    std::array<iovec, kBatch> pieces{};
    std::array<Packet*, kBatch> packets{};
    struct alignas(cmsghdr) Control {
        std::array<char, CMSG_SPACE(sizeof(tpacket_auxdata))> bytes;
    };
    std::array<Control, kBatch> controls;
};

PacketSocket::PacketSocket(const std::string& ifname, PacketPool& pool)
    : ifname_(ifname), pool_(pool), batch_(std::make_unique<Batch>()) {
    // Protocol 0: nothing is received before bind() has chosen the interface.
    fd_ = ::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd_ < 0) raise("interface '" + ifname + "': packet socket");
    const auto option = [&](int level, int name, int value, const char* what) {
        if (::setsockopt(fd_, level, name, &value, sizeof value) == 0) return;
        const int error = errno;
        ::close(fd_);
        errno = error;
        raise("interface '" + ifname + "': " + what);
    };
    option(SOL_SOCKET, SO_RCVBUFFORCE, kReceiveBuffer, "SO_RCVBUFFORCE");
    option(SOL_SOCKET, SO_SNDBUFFORCE, kSendBuffer, "SO_SNDBUFFORCE");
    option(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1, "PACKET_IGNORE_OUTGOING");
    option(SOL_PACKET, PACKET_QDISC_BYPASS, 1, "PACKET_QDISC_BYPASS");
    option(SOL_PACKET, PACKET_AUXDATA, 1, "PACKET_AUXDATA");

    if (!follow()) {
        const int error = errno;
        ::close(fd_);
        errno = error;
        raise("interface '" + ifname + "'");
    }
}

bool PacketSocket::follow() {
    ifreq request{};
    std::strncpy(request.ifr_name, ifname_.c_str(), IFNAMSIZ - 1);
    if (::ioctl(fd_, SIOCGIFINDEX, &request) != 0) return false;
    if (request.ifr_ifindex != index_) {
        sockaddr_ll address{};
        address.sll_family = AF_PACKET;
        address.sll_protocol = htons(ETH_P_ALL);
        address.sll_ifindex = request.ifr_ifindex;
        packet_mreq promiscuous{};
        promiscuous.mr_ifindex = request.ifr_ifindex;
        promiscuous.mr_type = PACKET_MR_PROMISC;
        if (::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
            ::setsockopt(fd_, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous) != 0)
            return false;
        index_ = request.ifr_ifindex;
    }
    read_mtu();
    return true;
}

PacketSocket::~PacketSocket() {
    for (Packet* packet : batch_->packets)
        if (packet != nullptr) pool_.give(packet);
    for (Packet* packet : sending_) pool_.give(packet);
    ::close(fd_);
}

bool PacketSocket::is_up() const {
    ifreq request{};
    std::strncpy(request.ifr_name, ifname_.c_str(), IFNAMSIZ - 1);
    if (::ioctl(fd_, SIOCGIFFLAGS, &request) != 0 || (request.ifr_flags & IFF_UP) == 0) return false;
    // The carrier itself: IFF_RUNNING follows it only after a while.
    ethtool_value link{};
    link.cmd = ETHTOOL_GLINK;
    request.ifr_data = reinterpret_cast<char*>(&link);
    if (::ioctl(fd_, SIOCETHTOOL, &request) != 0) return (request.ifr_flags & IFF_RUNNING) != 0;
    return link.data != 0;
}

void PacketSocket::read_mtu() {
    ifreq request{};
    std::strncpy(request.ifr_name, ifname_.c_str(), IFNAMSIZ - 1);
    if (::ioctl(fd_, SIOCGIFMTU, &request) != 0) return;
    const int longest = request.ifr_mtu + ETH_HLEN + 8;  // two VLAN tags
    const auto wanted = static_cast<std::uint32_t>(std::clamp(longest, 64, static_cast<int>(kMaxFrame)));
    if (wanted <= frame_bytes_) return;
    for (Packet*& packet : batch_->packets)
        if (packet != nullptr) pool_.give(std::exchange(packet, nullptr));
    frame_bytes_ = wanted;
    used_ = kBatch;
}

void PacketSocket::prepare() {
    Batch& batch = *batch_;
    for (std::size_t i = 0; i < used_; ++i) {
        if (batch.packets[i] == nullptr) batch.packets[i] = pool_.take(frame_bytes_);
        batch.pieces[i] = {batch.packets[i]->data(), frame_bytes_};
        batch.headers[i] = {};
        msghdr& header = batch.headers[i].msg_hdr;
        header.msg_iov = &batch.pieces[i];
        header.msg_iovlen = 1;
        header.msg_control = &batch.controls[i];
        header.msg_controllen = sizeof batch.controls[i];
    }
    used_ = 0;
}

std::span<Packet* const> PacketSocket::receive() {
    Batch& batch = *batch_;
    prepare();
    received_.clear();
    int count = ::recvmmsg(fd_, batch.headers.data(), kBatch, MSG_DONTWAIT, nullptr);
    // An interface that went down leaves its error once; what arrived before is still there.
    if (count < 0 && (errno == ENETDOWN || errno == EINTR))
        count = ::recvmmsg(fd_, batch.headers.data(), kBatch, MSG_DONTWAIT, nullptr);
    used_ = count < 0 ? 0 : static_cast<std::size_t>(count);
    for (std::size_t i = 0; i < used_; ++i) {
        if ((batch.headers[i].msg_hdr.msg_flags & MSG_TRUNC) != 0) {
            ++rx_errors_;
            continue;
        }
        Packet* packet = std::exchange(batch.packets[i], nullptr);
        packet->length = batch.headers[i].msg_len;
        restore_vlan_tag(batch.headers[i].msg_hdr, *packet);
        received_.push_back(packet);
    }
    return received_;
}

// ENOBUFS is also what an interface without carrier answers.
Interface::Fate PacketSocket::fate_of(int error) const {
    const bool down =
        error == ENETDOWN || error == ENXIO || error == ENODEV || (error == ENOBUFS && !is_up());
    return down ? Fate::kDown : Fate::kRefused;
}

std::span<const Interface::Sent> PacketSocket::flush() {
    sent_.clear();
    std::size_t at = 0;
    bool again = false;
    std::array<mmsghdr, kBatch> headers;
    std::array<iovec, kBatch> pieces;
    while (at < sending_.size()) {
        const std::size_t count = std::min(kBatch, sending_.size() - at);
        for (std::size_t i = 0; i < count; ++i) {
            Packet* packet = sending_[at + i];
            pieces[i] = {packet->data(), packet->visible_length()};
            headers[i] = {};
            headers[i].msg_hdr.msg_iov = &pieces[i];
            headers[i].msg_hdr.msg_iovlen = 1;
        }
        const int done = ::sendmmsg(fd_, headers.data(), static_cast<unsigned>(count), MSG_DONTWAIT);
        if (done < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN) break;
            // The first answer may be the memory of an interface that has been down and is up again.
            if (errno == ENETDOWN && !std::exchange(again, true)) continue;
            const int error = errno;
            sent_.push_back({sending_[at++], fate_of(error)});
            continue;
        }
        again = false;
        for (int i = 0; i < done; ++i) sent_.push_back({sending_[at++], Fate::kSent});
    }
    sending_.erase(sending_.begin(), sending_.begin() + static_cast<std::ptrdiff_t>(at));
    return sent_;
}

std::uint64_t PacketSocket::ring_drops() const {
    tpacket_stats stats{};  // reading it sets it back to zero
    socklen_t size = sizeof stats;
    if (::getsockopt(fd_, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0) ring_drops_ += stats.tp_drops;
    return ring_drops_;
}

}  // namespace csaud::sw
