// The receiver of a connection over a trimming fabric, Ultra-Ethernet-like: acknowledges every so many bytes,
// marks at once, and asks for packets that arrive without their payload. Without I/O.
#pragma once

#include <cstdint>
#include <optional>

#include "csaud_sim/baselines/arrival_window.hpp"
#include "csaud_sim/baselines/uec_packets.hpp"

namespace csaud::sim::baselines {

class UecReceiver {
  public:
    struct Answer {
        std::optional<UecAck> ack{};
        std::optional<UecNack> nack{};
        bool taken = false;  // the packet is new
    };

    // header: bytes of a packet beside its payload; ack_every: bytes (with headers) for one acknowledgement.
    UecReceiver(std::uint32_t header, std::uint32_t ack_every) : header_(header), ack_every_(ack_every) {}

    Answer on_data(const UecData& data, bool marked);
    // A packet that was cut.
    Answer on_trimmed(const UecData& data, bool marked, bool last_hop);

  private:
    UecAck ack(const UecData& data, bool marked, bool from_it);

    std::uint32_t header_, ack_every_;
    ArrivalWindow arrived_;
    std::uint64_t received_ = 0;    // bytes, with headers
    std::uint32_t unanswered_ = 0;  // of those
    bool asked_ = false;            // for an acknowledgement once nothing is missing
};

}  // namespace csaud::sim::baselines
