// Asks senders for what is missing of posted receives when the adaptive interval runs out
// (loss/detector.hpp), and keeps the timer of each receive.
#pragma once

#include <cstdint>

#include "csaud_host/base/time.hpp"
#include "csaud_host/loss/detector.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/receiving/receives.hpp"

namespace csaud {

class IntervalReports {
  public:
    explicit IntervalReports(Context& c) : ctx_(c) {}

    // How long a receive posted now may wait for its first packet before its sender is asked.
    Nanos first_wait(const Peer&, const Hints&, Nanos now) const noexcept;

    // Sets the timer of a receive for its next report.
    void arm(std::uint32_t index, Receive&, Peer&);
    // Its timer fired: asks, if that is due. `noticed`: its holes are known, and wait for their turn. `late`:
    // our own process was stopped.
    void on_timer(std::uint32_t index, Receive&, Peer&, Nanos now, bool noticed, bool late);
    // Its sender has sent the first `sent` packets by its time `tx_ts`.
    void sender_says(std::uint32_t index, Receive&, Peer&, std::uint16_t sent, std::uint32_t tx_ts,
                     Nanos now);

  private:
    IntervalTerms terms(const Receive&, const Peer&) const noexcept;
    // What DATA of the peer hardly exceeds in queues, which it shares with that of other peers.
    Nanos queueing(const Peer&) const noexcept;
    // What left the peer by then, by its clock, should be here; 0: its clock is unknown.
    std::uint32_t expected_by(const Peer&, Nanos now) const noexcept;
    void ask(const Receive&, const Peer&, const IntervalDetector::Report&, Nanos now);

    Context& ctx_;
};

}  // namespace csaud
