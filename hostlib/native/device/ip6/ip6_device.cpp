#include "ip6_device.hpp"

#include <poll.h>

#include <cstring>
#include <utility>

#include "csaud_host/base/byte_order.hpp"
#include "csaud_host/wire/wire.hpp"
#include "icrc.hpp"

namespace csaud::device::ip6 {
namespace {

constexpr std::size_t kIpv4AndUdp = wire::kIpv4Bytes + wire::kUdpBytes;
constexpr std::size_t kShortest = kIpv4AndUdp + wire::kBthBytes + wire::kIcrcBytes;

// Bytes of a packet of the core that a socket of this form does not take.
constexpr std::size_t missing(Form form) {
    return form == Form::raw ? wire::kIpv4Bytes : kIpv4AndUdp;
}

}  // namespace

Ip6Device::Ip6Device(Form form, const Config& config)
    : form_(form), address_(config.address), send_batch_(config.batch, missing(form)) {
    const auto add = [&](FileDescriptor fd, std::uint16_t port) {
        inlets_.emplace_back(std::move(fd), port, config.batch, config.packet_bytes);
    };
    if (form == Form::raw) {
        raw_sender_ = open_raw_sender(config);
        add(open_raw_receiver(config, Ports::both), 0);
    } else {
        add(open_port(config, kRocePort), kRocePort);
        add(open_port(config, kLossPort), kLossPort);
    }
    packets_.reserve(inlets_.size() * config.batch);
}

void Ip6Device::set_names(Names names) {
    names_ = std::move(names);
}

Sent Ip6Device::send(std::span<const TxPacket> packets) {
    std::uint64_t errors = 0;
    const Sent sent = send_batch_.send(tx(), address_, names_, packets, errors);
    return tally_.note(sent, errors);
}

Received Ip6Device::receive() {
    packets_.clear();
    bool more = false;
    for (Inlet& inlet : inlets_) more |= receive_from(inlet) == inlet.capacity();
    return {packets_, more};
}

std::size_t Ip6Device::receive_from(Inlet& inlet) {
    const std::size_t count = inlet.receive(names_, address_);
    for (std::size_t i = 0; i < count; ++i) {
        const std::span<std::byte> packet = inlet.packet(i);
        if (is_whole(packet, inlet.source(i)))
            packets_.push_back(packet);
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
        const bool sends = writable && &inlet.fd() == &tx();
        list.push_back({inlet.fd().get(), static_cast<short>(sends ? POLLIN | POLLOUT : POLLIN), 0});
    }
    if (writable && form_ == Form::raw) list.push_back({tx().get(), POLLOUT, 0});
}

DeviceCounters Ip6Device::counters() const {
    DeviceCounters counters;
    for (const Inlet& inlet : inlets_) counters.rx_queue_drops += inlet.drops();
    tally_.add_to(counters);
    counters.rx_bad_icrc = rx_bad_icrc_.load();
    return counters;
}

}  // namespace csaud::device::ip6
