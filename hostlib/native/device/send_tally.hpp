// What became of packets that a device was to send, as any thread may ask.
#pragma once

#include <atomic>
#include <cstdint>

#include "device.hpp"

namespace csaud::device {

class SendTally {
  public:
    // The kernel has refused so many packets for good.
    void refused(std::uint64_t packets) {
        if (packets != 0) errors_ += packets;
    }
    // Sending has to wait for the kernel.
    void blocked() { ++blocked_; }
    Sent note(Sent sent, std::uint64_t errors) {
        refused(errors);
        if (sent.result != SendResult::done) blocked();
        return sent;
    }

    void add_to(DeviceCounters& counters) const {
        counters.tx_errors += errors_.load();
        counters.tx_blocked += blocked_.load();
    }

  private:
    std::atomic<std::uint64_t> errors_ = 0;
    std::atomic<std::uint64_t> blocked_ = 0;
};

}  // namespace csaud::device
