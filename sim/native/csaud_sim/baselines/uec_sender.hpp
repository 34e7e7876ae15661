// The sender of a connection over a trimming fabric, Ultra-Ethernet-like: NSCC's window, a path for each
// packet, retransmission of what the receiver says was cut, and a timer for what nothing is heard of.
//
// Without I/O: it is told of acknowledgements and time, and asked for packets when its host's NIC is free.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "csaud_host/base/time.hpp"
#include "csaud_sim/baselines/nscc.hpp"
#include "csaud_sim/baselines/packet_ledger.hpp"
#include "csaud_sim/baselines/path_policy.hpp"
#include "csaud_sim/baselines/uec_packets.hpp"

namespace csaud::sim::baselines {

class UecSender {
  public:
    // timeout: of the oldest packet in flight, above 0. std::invalid_argument.
    UecSender(const NsccConfig& config, Nanos timeout, std::unique_ptr<PathPolicy> paths);

    // One more packet of this payload, the longest at most; they are numbered from 0.
    void post(std::uint32_t payload) { packets_.post(payload); }
    // Its window lets it send now.
    bool may_send();
    // The next packet; only while it may.
    UecData send(Nanos now);

    void on_ack(const UecAck& ack, Nanos now);
    void on_nack(const UecNack& nack, Nanos now);
    // When on_timer wants to be called; kNever: not at all.
    Nanos deadline();
    // Returns how many packets nothing was heard of.
    std::size_t on_timer(Nanos now);

    // All before were acknowledged.
    std::uint32_t acked() const { return packets_.base(); }
    const Nscc& congestion() const { return nscc_; }
    std::int64_t in_flight() const { return in_flight_; }

  private:
    using State = PacketLedger::State;

    std::uint32_t bytes_of(std::uint32_t seq) { return packets_.at(seq).payload + config_.header; }
    std::optional<Nanos> sample(std::uint32_t seq, bool again, Nanos now);
    void acked(std::uint32_t seq);

    NsccConfig config_;
    Nscc nscc_;
    Nanos timeout_;
    std::unique_ptr<PathPolicy> paths_;
    PacketLedger packets_;
    std::int64_t in_flight_ = 0;  // bytes, as far as the sender knows
    std::uint64_t received_ = 0;  // bytes, as the receiver last said
};

}  // namespace csaud::sim::baselines
