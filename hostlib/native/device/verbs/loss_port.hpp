// Cut packets of the first form on a machine whose RoCE packets an RDMA device takes: they come to a UDP port
// of their own, without an iCRC, and so to the kernel.
//
// A raw socket with a filter shows each queue pair its own, however many share the address. Without
// CAP_NET_RAW a UDP socket shows them all to the first process that asks for the port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device.hpp"
#include "file_descriptor.hpp"
#include "receive_batch.hpp"

namespace csaud::device::verbs {

class LossPort {
  public:
    // Of the queue pair `qpn`. Does without, where another process of this machine has the port and this one
    // no privileges: its losses are then found by the other detectors.
    LossPort(std::uint32_t ipv4, std::uint32_t qpn, std::size_t packet_bytes, std::size_t batch);

    bool open() const { return static_cast<bool>(fd_); }
    // Appends what has come; returns how many. They live until the next call.
    std::size_t take(std::vector<Packet>& packets);
    int descriptor() const { return fd_.get(); }
    std::uint64_t drops() const;

  private:
    std::uint32_t ipv4_;
    FileDescriptor fd_;    // raw, where there is a sink
    FileDescriptor sink_;  // keeps the port reachable
    ReceiveBatch batch_;
};

}  // namespace csaud::device::verbs
