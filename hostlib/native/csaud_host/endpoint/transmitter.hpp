// Builds the packets that leave: control first, then copies to resend, then new data, the last two at most at
// the pace that was set.
#pragma once

#include "csaud_host/base/time.hpp"
#include "csaud_host/endpoint/endpoint.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/receiving/receiver.hpp"
#include "csaud_host/sending/sender.hpp"

namespace csaud {

class Transmitter {
  public:
    Transmitter(Context& c, Sender& s, Receiver& r) : ctx_(c), sender_(s), receiver_(r) {}

    bool next(TxPacket&, Nanos now);
    // When the pace allows the next data packet; kNever: none waits.
    Nanos deadline() const noexcept;

  private:
    std::uint16_t path_id(std::uint16_t path) const noexcept;
    wire::Route route(TxPacket&, std::uint16_t dst, std::uint16_t path, std::uint8_t ecn) noexcept;
    bool next_control(TxPacket&, Nanos now);
    bool build_control(const ControlItem&, TxPacket&, Nanos now);
    void build_data(const Copy&, TxPacket&, Nanos now);
    void seal(TxPacket&, std::size_t pad) noexcept;

    Context& ctx_;
    Sender& sender_;
    Receiver& receiver_;
    Nanos next_data_ = 0;  // pacing
    std::uint32_t psn_ = 0;
};

}  // namespace csaud
