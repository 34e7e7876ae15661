#include "onlink_device.hpp"

#include <linux/udp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <random>
#include <system_error>
#include <utility>

#include "clock.hpp"
#include "csaud_host/base/byte_order.hpp"
#include "csaud_host/wire/wire.hpp"
#include "netlink.hpp"
#include "sockets.hpp"

namespace csaud::device::onlink {
namespace {

constexpr int kOneHop = 1;         // TTL
constexpr std::size_t kPsnAt = 9;  // from BTH on
constexpr std::size_t kPathIdAt = wire::kBthBytes + wire::kDethBytes + 24;
constexpr std::size_t kLeast = wire::kBthBytes + wire::kDethBytes + wire::kCsaBytes;
constexpr std::size_t kAroundMtu = wire::kBthBytes + wire::kDethBytes + wire::kIcrcBytes;

FileDescriptor open_socket_at(const DeviceConfig& config) {
    FileDescriptor fd = open_socket(SOCK_DGRAM, 0, "open a UDP socket");
    ignore_path_mtu(fd);
    set_option(fd, IPPROTO_IP, IP_TTL, kOneHop, "set IP_TTL");
    set_option(fd, IPPROTO_IP, IP_RECVTTL, 1, "set IP_RECVTTL");
    set_option(fd, IPPROTO_IP, IP_RECVTOS, 1, "set IP_RECVTOS");
    set_option(fd, IPPROTO_UDP, UDP_GRO, 1, "set UDP_GRO");
    set_option(fd, SOL_SOCKET, SO_SNDBUF, kSendBuffer, "set SO_SNDBUF");
    grow_receive_buffer(fd, config.receive_buffer);
    bind_to(fd, config.ipv4, 0);
    return fd;
}

std::uint64_t source_key(std::uint32_t ipv4, std::uint16_t port) {
    return (std::uint64_t{ipv4} << 16) | port;
}

// Whether packets to `peer` leave through no gateway.
bool is_neighbour(Netlink& netlink, std::uint32_t own, std::uint32_t peer) {
    const auto route = netlink.route(own, peer);
    return route && !route->by_ipv6 && (route->local || route->next_hop == peer);
}

}  // namespace

OnLinkDevice::OnLinkDevice(std::shared_ptr<Device> under, const DeviceConfig& config)
    : under_(std::move(under)),
      ipv4_(config.ipv4),
      socket_(open_socket_at(config)),
      send_batch_(config.batch, Datagrams::kHeadroom, true,
                  [this](const TxPacket& packet) {
                      const Peer* peer = peer_of(packet);
                      return make_address(peer->who.ipv4, peer->who.port);
                  }),
      receive_batch_(Datagrams::kTrains, Datagrams::kLongestTrain, Datagrams::kHeadroom) {}

std::uint16_t OnLinkDevice::port() const {
    sockaddr_in local{};
    socklen_t size = sizeof local;
    if (::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&local), &size) != 0)
        throw_errno("look up a socket's port");
    return ntohs(local.sin_port);
}

void OnLinkDevice::link(std::span<const LinkPeer> peers, std::size_t path_mtu) {
    longest_ = path_mtu + kAroundMtu;
    Netlink netlink;
    std::random_device random;
    std::vector<Peer> known = std::exchange(peers_, {});
    peer_of_rank_.clear();
    peer_of_source_.clear();
    for (const LinkPeer& who : peers) {
        if (!is_neighbour(netlink, ipv4_, who.ipv4)) continue;
        if (who.rank >= peer_of_rank_.size()) peer_of_rank_.resize(who.rank + std::size_t{1});
        peer_of_rank_[who.rank] = peers_.size();
        peer_of_source_[source_key(who.ipv4, who.port)] = peers_.size();
        // Where it is was found in an epoch before.
        const auto before = std::ranges::find_if(
            known, [&](const Peer& peer) { return peer.who.ipv4 == who.ipv4 && peer.who.port == who.port; });
        if (before != known.end())
            peers_.push_back({who, before->trial, 0});
        else
            peers_.push_back({who, LinkTrial((std::uint64_t{random()} << 32) | random()), 0});
    }
}

OnLinkDevice::Peer* OnLinkDevice::peer_of(const TxPacket& packet) {
    if (packet.dst_rank >= peer_of_rank_.size() || !peer_of_rank_[packet.dst_rank]) return nullptr;
    return &peers_[*peer_of_rank_[packet.dst_rank]];
}

bool OnLinkDevice::goes_in_trains(const TxPacket& packet, Nanos now) {
    Peer* peer = peer_of(packet);
    if (peer == nullptr) return false;
    if (const auto question = peer->trial.due(now)) ask(*peer, *question);
    return peer->trial.on_link(now);
}

Sent OnLinkDevice::send(std::span<const TxPacket> packets) {
    if (peers_.empty()) return under_->send(packets);
    const Nanos now = monotonic_now();
    Sent sent;
    for (std::size_t end = 0; sent.taken < packets.size() && sent.result == SendResult::done;) {
        const bool trains = goes_in_trains(packets[sent.taken], now);
        for (end = sent.taken + 1; end < packets.size() && goes_in_trains(packets[end], now) == trains;)
            ++end;
        const auto run = packets.subspan(sent.taken, end - sent.taken);
        const Sent some = trains ? send_trains(run) : under_->send(run);
        sent.taken += some.taken;
        sent.result = some.result;
        blocked_ = trains && some.result == SendResult::blocked;
    }
    return sent;
}

Sent OnLinkDevice::send_trains(std::span<const TxPacket> packets) {
    std::uint64_t errors = 0;
    const Sent sent = send_batch_.send(socket_, packets, errors);
    return tally_.note(sent, errors);
}

void OnLinkDevice::ask(const Peer& peer, Question question) {
    const std::size_t room = std::min(kMostSegments - 1, (kLongestDatagram - kQuestionBytes) / longest_);
    question.padding = static_cast<std::uint8_t>(std::min<std::size_t>(question.padding, room));
    padding_.assign(question.padding * longest_, {});
    const auto pad = encode({.kind = Kind::padding});
    for (std::size_t at = 0; at < padding_.size(); at += longest_)
        std::ranges::copy(pad, padding_.data() + at);
    const auto text = encode(question);
    padding_.insert(padding_.end(), text.begin(), text.end());
    say(peer, padding_, question.padding == 0 ? 0 : longest_);
}

// What cannot be sent now is asked again.
void OnLinkDevice::say(const Peer& peer, std::span<const std::byte> datagram, std::size_t segment) {
    iovec body = piece(datagram.data(), datagram.size());
    sockaddr_in destination = make_address(peer.who.ipv4, peer.who.port);
    ControlRoom control;
    msghdr message{};
    message.msg_name = &destination;
    message.msg_namelen = sizeof destination;
    message.msg_iov = &body;
    message.msg_iovlen = 1;
    put_control(message, control, AF_INET, 0, static_cast<std::uint16_t>(segment));
    ::sendmsg(socket_.get(), &message, MSG_DONTWAIT);
}

Received OnLinkDevice::receive() {
    if (peers_.empty()) {
        first_under_ = 0;
        return under_->receive();
    }
    const bool slept = slept_.load(std::memory_order_relaxed) && slept_.exchange(false);
    packets_.clear();
    trains_.clear();
    Received received;
    if (at_trains_.due() || slept) {
        received.more = take_trains() == receive_batch_.capacity();
        packets_.assign(trains_.packets().begin(), trains_.packets().end());
        at_trains_.found(!packets_.empty());
    }
    first_under_ = packets_.size();
    if (at_under_.due() || slept) {
        const Received under = under_->receive();
        packets_.insert(packets_.end(), under.packets.begin(), under.packets.end());
        received.more |= under.more;
        at_under_.found(!under.packets.empty());
    }
    received.packets = packets_;
    return received;
}

void OnLinkDevice::before(std::size_t index) {
    if (index < first_under_)
        trains_.before(index);
    else
        under_->before(index - first_under_);
}

// Returns the number of datagrams.
std::size_t OnLinkDevice::take_trains() {
    const std::size_t count = receive_batch_.receive(socket_);
    for (std::size_t i = 0; i < count; ++i) {
        const sockaddr_in& source = receive_batch_.source(i);
        const Control control = receive_batch_.control(i);
        const auto known =
            peer_of_source_.find(source_key(ntohl(source.sin_addr.s_addr), ntohs(source.sin_port)));
        // What was forwarded, by something that drops no packets of one hop, is no trial of a link.
        if (known == peer_of_source_.end() || control.ttl != kOneHop) continue;
        take(peers_[known->second], receive_batch_.slot(i), control);
    }
    return count;
}

// Headers are what the sender's endpoint wrote: they are not on this link, and the iCRC covers them.
void OnLinkDevice::take(Peer& peer, std::span<std::byte> slot, const Control& control) {
    Datagrams::cut(slot, control.segment, [&](std::span<std::byte> packet, bool first) {
        const auto body = std::span<const std::byte>(packet).subspan(Datagrams::kHeadroom);
        if (const auto question = decode(body)) return heard(peer, *question);
        if (body.size() < kLeast) return;
        IpHeaders headers{.length = packet.size(),
                          .source = peer.who.ipv4,
                          .destination = ipv4_,
                          .source_port = kRocePort,
                          .destination_port = kRocePort,
                          .tos = control.tos};
        if (!peer.who.udp) {
            headers.source_port = wire::source_port(get16(body.data() + kPathIdAt));
            headers.id = wire::ip_id(get24(body.data() + kPsnAt));
        }
        trains_.add(packet, headers, first);
    });
}

void OnLinkDevice::heard(Peer& peer, Question question) {
    if (question.kind == Kind::padding) {
        ++peer.padding;
    } else if (question.kind == Kind::question) {
        if (question.padding == 0) peer.trial.asked();
        if (std::exchange(peer.padding, 0) < question.padding) return;
        question.kind = Kind::answer;
        say(peer, encode(question));
    } else {
        const Nanos now = monotonic_now();
        peer.trial.answered(question, now);
        if (const auto next = peer.trial.due(now)) ask(peer, *next);
    }
}

void OnLinkDevice::watch(std::vector<pollfd>& list, bool writable) const {
    slept_ = true;
    const bool blocked = writable && blocked_;
    under_->watch(list, writable && !blocked);
    list.push_back({socket_.get(), static_cast<short>(blocked ? POLLIN | POLLOUT : POLLIN), 0});
}

DeviceCounters OnLinkDevice::counters() const {
    DeviceCounters counters = under_->counters();
    counters.rx_queue_drops += receive_queue_drops(socket_);
    tally_.add_to(counters);
    return counters;
}

}  // namespace csaud::device::onlink
