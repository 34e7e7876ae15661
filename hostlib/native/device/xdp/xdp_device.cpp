#include "xdp_device.hpp"

#include <linux/if_ether.h>

#include "clock.hpp"
#include "port_sink.hpp"
#include "sockets.hpp"

namespace csaud::device::xdp {
namespace {

// Looks between two at what the kernel tells of neighbours and routes.
constexpr unsigned kRefreshEvery = 1024;

}  // namespace

XdpDevice::XdpDevice(const DeviceConfig& config)
    : interface_(find_interface(config.ipv4)),
      hops_(interface_, config.ipv4),
      send_ring_(interface_.index, interface_.queues, ETH_HLEN + config.packet_bytes),
      receive_ring_({config.ipv4, config.qpn, config.packet_bytes}, interface_.index,
                    static_cast<std::size_t>(config.receive_buffer), config.batch) {
    for (const std::uint16_t port : {kRocePort, kLossPort}) sinks_.push_back(open_sink(config.ipv4, port));
}

void XdpDevice::prepare(std::uint32_t ipv4) {
    hops_.prepare(ipv4);
}

Sent XdpDevice::send(std::span<const TxPacket> packets) {
    Sent sent;
    const Nanos now = monotonic_now();
    for (const TxPacket& packet : packets) {
        const EthernetAddresses* addresses = hops_.find(packet.dst_ipv4, now);
        if (addresses == nullptr || packet.size() > interface_.mtu) {
            // No way, or too long: the peer will be missed, and this says why.
            tally_.refused(1);
        } else if (!send_ring_.room()) {
            sent.result = SendResult::starved;
            tally_.blocked();
            break;
        } else {
            send_ring_.put(packet, *addresses);
        }
        ++sent.taken;
    }
    flush();
    return sent;
}

// What the kernel does not take now it is offered again with the next look.
void XdpDevice::flush() {
    std::uint64_t errors = 0;
    const bool taken = send_ring_.flush(errors);
    if (!taken) tally_.blocked();
    if (pending_ == taken) pending_ = !taken;
    tally_.refused(errors);
}

Received XdpDevice::receive() {
    if (pending_) flush();
    if (++looks_ % kRefreshEvery == 0 || slept_) {
        slept_ = false;
        hops_.refresh(monotonic_now());
    }
    return receive_ring_.receive();
}

void XdpDevice::watch(std::vector<pollfd>& list, bool /*writable*/) const {
    slept_ = true;
    list.push_back({receive_ring_.watch(), POLLIN, 0});
    list.push_back({hops_.watch(), POLLIN, 0});
    if (pending_) list.push_back({send_ring_.watch(), POLLOUT, 0});
}

DeviceCounters XdpDevice::counters() const {
    DeviceCounters counters;
    counters.rx_queue_drops = receive_ring_.dropped();
    tally_.add_to(counters);
    return counters;
}

}  // namespace csaud::device::xdp
