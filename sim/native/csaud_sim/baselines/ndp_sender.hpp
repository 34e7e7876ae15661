// The sender of a connection of NDP (SIGCOMM 2017): a first window at once, then a packet for each pull of
// the receiver's, what was cut first. Without I/O.
#pragma once

#include <cstdint>
#include <memory>

#include "csaud_host/base/time.hpp"
#include "csaud_sim/baselines/packet_ledger.hpp"
#include "csaud_sim/baselines/path_policy.hpp"

namespace csaud::sim::baselines {

class NdpSender {
  public:
    struct Shot {
        std::uint32_t seq = 0, payload = 0;
        std::uint16_t path = 0;
        Reason why = Reason::first;
    };

    // first_window: packets; timeout: of a packet that nothing was heard of.
    NdpSender(std::uint32_t first_window, Nanos timeout, std::unique_ptr<PathPolicy> paths);

    // One more packet of this payload. Until nothing is under way, no more than a first window is without a
    // pull.
    void post(std::uint32_t payload);
    bool may_send() const { return credit_ > 0 && packets_.any(); }
    Shot send(Nanos now);

    void on_ack(std::uint32_t seq, std::uint16_t path, Nanos now);
    void on_nack(std::uint32_t seq, std::uint16_t path, Nanos now);
    // The receiver has asked for so many packets by now.
    void on_pulls(std::uint32_t pulls, Nanos now);
    Nanos deadline();
    // Returns how many packets nothing was heard of.
    std::size_t on_timer(Nanos now);

    std::uint32_t acked() const { return packets_.base(); }

  private:
    std::uint32_t first_window_;
    Nanos timeout_;
    std::unique_ptr<PathPolicy> paths_;
    PacketLedger packets_;
    std::uint32_t credit_ = 0;  // packets that may go
    std::uint32_t pulls_ = 0;
    Nanos heard_at_ = 0;
};

}  // namespace csaud::sim::baselines
