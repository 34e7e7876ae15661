// The soft device without privileges, a reduced mode: ordinary UDP sockets on ports 4791 and 49791.
//
// What is reduced: one rank an address (the ports tell no QPs apart); one source port, so a fabric that
// spreads by UDP ports alone sees one flow; the receiver does not see the IP id, which the iCRC covers, so
// that only packets of senders of this mode, whose id is 0, can be checked; and packets that the interface's
// queue drops are not reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "datagrams.hpp"
#include "device.hpp"
#include "file_descriptor.hpp"
#include "receive_batch.hpp"
#include "socket_device.hpp"

namespace csaud::device {

class UdpDevice final : public SocketDevice {
  public:
    // Throws std::system_error: EADDRINUSE where another rank has the address, EADDRNOTAVAIL where it is not
    // local.
    explicit UdpDevice(const DeviceConfig& config);

    Received receive() override;
    void before(std::size_t index) override { received_.before(index); }
    void watch(std::vector<pollfd>& list, bool writable) const override;

  private:
    std::uint64_t receive_drops() const override;
    std::size_t receive_from(const FileDescriptor& fd, std::uint16_t port, ReceiveBatch& batch);

    std::uint32_t ipv4_;
    FileDescriptor loss_;
    unsigned loss_every_;  // turns
    ReceiveBatch roce_batch_;
    ReceiveBatch loss_batch_;
    Datagrams received_;  // of the last receive()
    unsigned looks_ = 0;
};

}  // namespace csaud::device
