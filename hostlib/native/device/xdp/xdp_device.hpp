// The soft device past the kernel's sockets: frames leave through an AF_XDP socket, and come through a ring
// buffer that a BPF program at the interface fills.
//
// An AF_XDP socket could receive as well. On interfaces without an XDP driver of their own, such as veth, the
// kernel would first copy each packet into memory that has room in front of it, cut it into pages, and then
// copy it once more; a program at TCX, where packets are as they came, copies once, into a ring where each
// lies in one piece, and several ranks can have one at an interface.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "device.hpp"
#include "file_descriptor.hpp"
#include "interface.hpp"
#include "next_hops.hpp"
#include "receive_ring.hpp"
#include "send_ring.hpp"
#include "send_tally.hpp"

namespace csaud::device::xdp {

class XdpDevice final : public Device {
  public:
    // Throws std::system_error: EPERM without the privileges, EBUSY where other ranks have all queues of the
    // interface, and whatever the kernel lacks.
    explicit XdpDevice(const DeviceConfig& config);

    Sent send(std::span<const TxPacket> packets) override;
    Received receive() override;
    void watch(std::vector<pollfd>& list, bool writable) const override;
    DeviceCounters counters() const override;
    void prepare(std::uint32_t ipv4) override;

  private:
    void flush();

    Interface interface_;
    std::vector<FileDescriptor> sinks_;
    NextHops hops_;
    SendRing send_ring_;
    ReceiveRing receive_ring_;
    unsigned looks_ = 0;
    mutable std::atomic<bool> slept_ = false;  // somebody waited since the last look
    std::atomic<bool> pending_ = false;        // the kernel has not taken all that was put
    SendTally tally_;
};

}  // namespace csaud::device::xdp
