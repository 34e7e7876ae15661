// The process's end of the ring buffer that the ingress program fills.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device.hpp"
#include "file_descriptor.hpp"
#include "ingress_program.hpp"
#include "mapping.hpp"

namespace csaud::device::xdp {

class ReceiveRing {
  public:
    // Packets of the filter that come by the interface from now on, at most `bytes` of them (rounded to a
    // power of two). Throws std::system_error.
    ReceiveRing(const IngressFilter& filter, int interface_index, std::size_t bytes, std::size_t batch);

    // What waits, at most a batch; it lives until the next call. No system call.
    Received receive();

    // What becomes readable with the next packet; call it right before waiting.
    int watch() const;

    // From any thread.
    std::uint64_t dropped() const;

  private:
    FileDescriptor ring_;
    FileDescriptor control_;
    Mapping consumer_page_;
    Mapping records_;  // the producer's page, and the ring twice in a row
    Mapping control_page_;
    FileDescriptor program_;
    FileDescriptor link_;
    std::byte* ring_begin_ = nullptr;
    std::size_t mask_;
    std::uint64_t consumed_ = 0;
    std::size_t packet_bytes_;
    std::size_t batch_;
    std::vector<Packet> packets_;
};

}  // namespace csaud::device::xdp
