// The sender of a connection of DCP (Revisiting RDMA Reliability for Lossy Fabrics, SIGCOMM 2025), as far as
// public text describes it: header-only packets that its receiver reflects say exactly what was cut, and it
// goes again; of what arrives in whatever order only the number is told. A timer that never needs to be short
// is for what nothing is heard of. Without I/O.
#pragma once

#include <cstdint>

#include "csaud_host/base/time.hpp"
#include "csaud_sim/baselines/packet_ledger.hpp"

namespace csaud::sim::baselines {

class DcpSender {
  public:
    struct Shot {
        std::uint32_t seq = 0, payload = 0;
        Reason why = Reason::first;
    };

    // window: packets under way; timeout: without a word, so long. std::invalid_argument.
    DcpSender(std::uint32_t window, Nanos timeout);

    // One more packet of this payload.
    void post(std::uint32_t payload) { packets_.post(payload); }
    bool may_send() const;
    Shot send(Nanos now);

    // So many packets have arrived in all, among them all before `next`.
    void on_ack(std::uint32_t next, std::uint32_t arrived, Nanos now);
    // A header-only packet has come back.
    void on_cut(std::uint32_t seq, Nanos now);
    Nanos deadline() const;
    // Returns how many packets nothing was heard of.
    std::size_t on_timer(Nanos now);

    std::uint32_t acked() const { return packets_.base(); }

  private:
    std::uint32_t window_;
    Nanos timeout_;
    PacketLedger packets_;
    std::uint32_t arrived_ = 0;
    Nanos heard_at_ = 0;
};

}  // namespace csaud::sim::baselines
