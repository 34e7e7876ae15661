#include "socket_device.hpp"

#include <utility>

namespace csaud::device {

SocketDevice::SocketDevice(FileDescriptor tx, std::size_t batch, std::size_t skip, bool segmentation)
    : tx_(std::move(tx)), send_batch_(batch, skip, segmentation) {}

Sent SocketDevice::send(std::span<const TxPacket> packets) {
    std::uint64_t errors = 0;
    const Sent sent = send_batch_.send(tx_, packets, errors);
    if (errors != 0) refused();
    return tally_.note(sent, errors);
}

DeviceCounters SocketDevice::counters() const {
    DeviceCounters counters;
    counters.rx_queue_drops = receive_drops();
    tally_.add_to(counters);
    return counters;
}

}  // namespace csaud::device
