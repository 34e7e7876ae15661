// The sender's own question, for what the receiver's interval cannot see (a lost ACK, a lost only packet):
// asked when nothing was heard of a message for long, ever more seldom.
#pragma once

#include <cstdint>

#include "csaud_host/base/time.hpp"
#include "csaud_host/messages/send_message.hpp"
#include "csaud_host/peers/context.hpp"

namespace csaud {

class Probes {
  public:
    explicit Probes(Context& c) : ctx_(c) {}

    // A packet of the message goes, or may go soon: its timer runs.
    void expect(std::uint32_t index, const Peer& peer, Nanos now) {
        ctx_.timers.arm_earlier(TimerKind::send, index, now + wait(peer, 0));
    }
    // The timer of a message that may ask fired: asks, if that is due, and sets it anew.
    void on_timer(std::uint32_t index, SendMessage&, const Peer&, Nanos now);
    // It was answered, and there is nothing to do: the next ones need not hurry.
    static void answered(SendMessage&) noexcept;

  private:
    // The receiver's own interval is shorter.
    Nanos wait(const Peer&, unsigned rounds) const noexcept;

    Context& ctx_;
};

}  // namespace csaud
