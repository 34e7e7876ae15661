// Packets on their way from the endpoint to the device: the batch that was gathered, and what the kernel did
// not take of an earlier one, with its payload, since the message may end before it does.
//
// The driver's own, without a lock.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "csaud_host/endpoint/endpoint.hpp"
#include "device.hpp"

namespace csaud::device {

class Outbox {
  public:
    // `batch`: the most packets handed over at once.
    explicit Outbox(std::size_t batch) : batch_(batch) {}

    // Fills the batch with what the endpoint may send now; nothing while there is a rest. Under the lock of
    // the endpoint.
    void gather(Endpoint&, Nanos now);
    // Hands the rest over, or else the batch; true: there was something, and all of it was taken.
    bool send(Device&);

    // Whether the batch was full when it was last gathered, so that there may be more.
    bool full() const noexcept { return count_ == batch_.size(); }
    // Whether there is a rest, and why.
    bool has_rest() const noexcept { return !rest_.empty(); }
    SendResult reason() const noexcept { return reason_; }

  private:
    void keep(std::span<const TxPacket> packets);

    std::vector<TxPacket> batch_;
    std::size_t count_ = 0;  // of the batch
    std::vector<TxPacket> rest_;
    std::vector<std::byte> payload_;  // of the rest
    SendResult reason_ = SendResult::done;
};

}  // namespace csaud::device
