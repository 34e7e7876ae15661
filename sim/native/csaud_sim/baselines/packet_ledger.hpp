// What a sender knows of the packets of a connection: which were never sent, are under way, are lost, have
// arrived. Without I/O; no allocation where packets come and go.
#pragma once

#include <cstdint>

#include "csaud_host/base/ring_queue.hpp"
#include "csaud_sim/engine/engine.hpp"

namespace csaud::sim::baselines {

// Why a packet goes.
enum class Reason : std::uint8_t { first, trimmed, timeout };

class PacketLedger {
  public:
    static constexpr std::uint32_t kNone = UINT32_MAX;
    enum class State : std::uint8_t { fresh, flying, lost, acked };
    struct Packet {
        Nanos sent_at = 0;  // last
        std::uint32_t payload = 0;
        std::uint16_t times = 0;  // sent
        State state = State::fresh;
        Reason why = Reason::first;  // it goes next, or went last

      private:
        friend class PacketLedger;
        std::uint32_t older = kNone, newer = kNone;  // of those under way, by when they were sent
    };

    // One more; they are numbered from 0.
    void post(std::uint32_t payload);
    // There is one to send; the lost ones go first, by their numbers.
    bool any() const { return lost_ > 0 || fresh_ < end(); }
    std::uint32_t next() const { return lost_ > 0 ? first_lost_ : fresh_; }
    // That one goes.
    Packet& send(Nanos now);

    // What it was before; a packet that was lost may have arrived all the same.
    State ack(std::uint32_t seq);
    // Packets under way only.
    void lose(std::uint32_t seq, Reason why);

    bool known(std::uint32_t seq) const { return seq >= base_ && seq < fresh_; }
    // Of those that are not acknowledged from the first one on.
    Packet& at(std::uint32_t seq) { return packets_.at(seq - base_); }
    std::uint32_t base() const { return base_; }    // all before were acknowledged
    std::uint32_t fresh() const { return fresh_; }  // first that was never sent
    std::uint32_t end() const { return base_ + static_cast<std::uint32_t>(packets_.size()); }
    std::uint32_t flying() const { return flying_; }
    // Under way for the longest time; kNone: nothing is.
    std::uint32_t oldest() const { return oldest_; }

  private:
    void land(const Packet& packet);
    void find_lost();

    RingQueue<Packet> packets_;  // from base_ on
    std::uint32_t base_ = 0;     // first that was not acknowledged
    std::uint32_t fresh_ = 0;
    std::uint32_t flying_ = 0;
    std::uint32_t lost_ = 0;        // that wait to be sent again,
    std::uint32_t first_lost_ = 0;  // from here on
    std::uint32_t oldest_ = kNone, newest_ = kNone;
};

}  // namespace csaud::sim::baselines
