// The soft device with CAP_NET_RAW: whole IPv4 packets through raw sockets.
//
// Sends on an IPPROTO_RAW socket, so the source port (path entropy) and the IP id, both covered by the iCRC,
// are the core's. Receives on an IPPROTO_UDP raw socket, which shows the IPv4 header, as the check of the
// iCRC needs it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device.hpp"
#include "file_descriptor.hpp"
#include "receive_batch.hpp"
#include "send_batch.hpp"

namespace csaud::device {

class RawDevice final : public Device {
  public:
    // Throws std::system_error: EPERM without CAP_NET_RAW, EADDRNOTAVAIL where the address is not local.
    explicit RawDevice(const DeviceConfig& config);

    Sent send(std::span<const TxPacket> packets) override;
    Received receive() override;
    void watch(std::vector<pollfd>& list, bool writable) const override;
    DeviceCounters counters() const override;

  private:
    void drain_errors();

    FileDescriptor tx_;
    FileDescriptor rx_;
    std::vector<FileDescriptor> sinks_;
    SendBatch send_batch_;
    ReceiveBatch receive_batch_;
    std::vector<Packet> packets_;
    std::atomic<std::uint64_t> tx_errors_ = 0;
    std::atomic<std::uint64_t> tx_blocked_ = 0;
};

}  // namespace csaud::device
