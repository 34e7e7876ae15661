// The soft device without privileges, a reduced mode: ordinary UDP sockets on ports 4791 and 49791.
//
// What is reduced: one rank an address (the ports tell no QPs apart); one source port, so a fabric that
// spreads by UDP ports alone sees one flow; the receiver does not see the IP id, which the iCRC covers, so
// that only packets of senders of this mode, whose id is 0, can be checked; and packets that the interface's
// queue drops are not reported.
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

class UdpDevice final : public Device {
  public:
    // Throws std::system_error: EADDRINUSE where another rank has the address, EADDRNOTAVAIL where it is not
    // local.
    explicit UdpDevice(const DeviceConfig& config);

    Sent send(std::span<const TxPacket> packets) override;
    Received receive() override;
    void watch(std::vector<pollfd>& list, bool writable) const override;
    DeviceCounters counters() const override;

  private:
    std::size_t receive_from(const FileDescriptor& fd, std::uint16_t port, ReceiveBatch& batch);

    std::uint32_t ipv4_;
    FileDescriptor roce_;
    FileDescriptor loss_;
    SendBatch send_batch_;
    ReceiveBatch roce_batch_;
    ReceiveBatch loss_batch_;
    std::vector<Packet> packets_;
    unsigned looks_ = 0;
    std::atomic<std::uint64_t> tx_errors_ = 0;
    std::atomic<std::uint64_t> tx_blocked_ = 0;
};

}  // namespace csaud::device
