#include "ip6_device.hpp"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "../ip_headers.hpp"
#include "csaud_host/base/byte_order.hpp"
#include "csaud_host/wire/wire.hpp"
#include "icrc.hpp"

namespace csaud::device::ip6 {
namespace {

constexpr std::size_t kIpv4AndUdp = wire::kIpv4Bytes + wire::kUdpBytes;
constexpr std::size_t kShortest = kIpv4AndUdp + wire::kBthBytes + wire::kIcrcBytes;

// Bytes of a packet of the core that a socket of this form neither takes nor delivers.
constexpr std::size_t missing(Form form) {
    return form == Form::raw ? wire::kIpv4Bytes : kIpv4AndUdp;
}

}  // namespace

Ip6Device::Ip6Device(Form form, const Config& config)
    : form_(form), address_(config.address), send_batch_(config.batch, missing(form)) {
    const auto add = [&](FileDescriptor fd, std::uint16_t port) {
        const std::uint64_t foreign_drops = receive_queue_drops(fd);
        inlets_.push_back({std::move(fd), port,
                           ReceiveBatch(config.batch, config.packet_bytes, missing(form)), foreign_drops});
    };
    if (form == Form::raw) {
        raw_sender_ = open_raw_sender(config);
        add(open_raw_receiver(config), 0);
    } else {
        add(open_port(config, kRocePort), kRocePort);
        add(open_port(config, kLossPort), kLossPort);
    }
    packets_.reserve(inlets_.size() * config.batch);
}

void Ip6Device::set_names(Names names) {
    names_ = std::move(names);
    own_ = names_.name_of(address_);
}

Sent Ip6Device::send(std::span<const TxPacket> packets) {
    std::uint64_t errors = 0;
    const Sent sent = send_batch_.send(tx(), address_, names_, packets, errors);
    tx_errors_ += errors;
    if (sent.result != SendResult::done) ++tx_blocked_;
    return sent;
}

Received Ip6Device::receive() {
    packets_.clear();
    bool more = false;
    for (Inlet& inlet : inlets_) more |= receive_from(inlet) == inlet.batch.capacity();
    return {packets_, more};
}

std::size_t Ip6Device::receive_from(Inlet& inlet) {
    const std::size_t count = inlet.batch.receive(inlet.fd);
    for (std::size_t i = 0; i < count; ++i) {
        const std::span<std::byte> slot = inlet.batch.slot(i);
        const sockaddr_in6& source = inlet.batch.source(i);
        // The length is that of the packet as it came; if it was cut to fit, the slot is shorter and the core
        // sees it.
        const IpHeaders headers{.length = inlet.batch.length(i),
                                .source = names_.name_of(source.sin6_addr),
                                .destination = own_,
                                .source_port = ntohs(source.sin6_port),
                                .destination_port = inlet.port,
                                .tos = inlet.batch.tos(i)};
        if (inlet.port != 0) {
            write_ip_headers(slot.data(), headers);
        } else {
            std::array<std::byte, kIpv4AndUdp> both;
            write_ip_headers(both.data(), headers);
            std::copy_n(both.begin(), wire::kIpv4Bytes, slot.begin());  // UDP's came with it
        }
        if (is_whole(slot, source.sin6_addr))
            packets_.push_back(slot);
        else
            ++rx_bad_icrc_;
    }
    return count;
}

// What is too short, or shorter than it says, is the core's to count; LOSS on its own port has no iCRC.
bool Ip6Device::is_whole(std::span<const std::byte> packet, const in6_addr& source) const {
    if (packet.size() < kShortest) return true;
    const std::byte* udp = packet.data() + wire::kIpv4Bytes;
    const std::size_t length = get16(udp + 4);
    if (get16(udp + 2) != kRocePort || length != packet.size() - wire::kIpv4Bytes) return true;
    const auto covered = packet.subspan(wire::kIpv4Bytes, length - wire::kIcrcBytes);
    const auto expected = icrc(source, address_, covered, {}, {});
    return std::memcmp(expected.data(), udp + covered.size(), expected.size()) == 0;
}

void Ip6Device::watch(std::vector<pollfd>& list, bool writable) const {
    for (const Inlet& inlet : inlets_) {
        const bool sends = writable && &inlet.fd == &tx();
        list.push_back({inlet.fd.get(), static_cast<short>(sends ? POLLIN | POLLOUT : POLLIN), 0});
    }
    if (writable && form_ == Form::raw) list.push_back({tx().get(), POLLOUT, 0});
}

DeviceCounters Ip6Device::counters() const {
    DeviceCounters counters;
    for (const Inlet& inlet : inlets_)
        counters.rx_queue_drops += receive_queue_drops(inlet.fd) - inlet.foreign_drops;
    counters.tx_errors = tx_errors_.load();
    counters.tx_blocked = tx_blocked_.load();
    counters.rx_bad_icrc = rx_bad_icrc_.load();
    return counters;
}

}  // namespace csaud::device::ip6
