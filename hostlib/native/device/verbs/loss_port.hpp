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

namespace csaud::device::verbs {

inline constexpr int kLossBuffer = 1 << 20;  // bytes that wait to be received: cut packets are short

class LossPort {
  public:
    virtual ~LossPort() = default;

    // Appends what has come; returns how many. They live until the next call.
    virtual std::size_t take(std::vector<Packet>& packets) = 0;
    virtual int descriptor() const = 0;
    virtual std::uint64_t drops() const = 0;
};

}  // namespace csaud::device::verbs
