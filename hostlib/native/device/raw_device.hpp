// The soft device with CAP_NET_RAW: whole IPv4 packets through raw sockets.
//
// Sends on an IPPROTO_RAW socket, so the source port (path entropy) and the IP id, both covered by the iCRC,
// are the core's. Receives on an IPPROTO_UDP raw socket, which shows the IPv4 header, as the check of the
// iCRC needs it.
#pragma once

#include <cstdint>
#include <vector>

#include "device.hpp"
#include "file_descriptor.hpp"
#include "receive_batch.hpp"
#include "socket_device.hpp"

namespace csaud::device {

class RawDevice final : public SocketDevice {
  public:
    // Throws std::system_error: EPERM without CAP_NET_RAW, EADDRNOTAVAIL where the address is not local.
    explicit RawDevice(const DeviceConfig& config);

    Received receive() override;
    void watch(std::vector<pollfd>& list, bool writable) const override;

  private:
    void refused() override;
    std::uint64_t receive_drops() const override;

    FileDescriptor rx_;
    std::uint64_t foreign_drops_;  // while the socket still took every packet of the machine
    std::vector<FileDescriptor> sinks_;
    ReceiveBatch receive_batch_;
    std::vector<Packet> packets_;  // of the last receive()
};

}  // namespace csaud::device
