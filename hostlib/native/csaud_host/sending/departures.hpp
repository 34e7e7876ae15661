// When copies left. What the endpoint gives out leaves a moment later, or, where its own process is held up
// in between, much later: then it only looks old.
#pragma once

#include <cstdint>

#include "csaud_host/base/time.hpp"
#include "csaud_host/messages/send_message.hpp"
#include "csaud_host/peers/context.hpp"

namespace csaud {

class Departures {
  public:
    explicit Departures(Context& c) : ctx_(c) {}

    // A copy goes out: it becomes the newest one of its packet.
    void stamp(SendMessage&, Peer&, PacketRecord&, Nanos now);
    // All copies given out so far have left the device.
    void handed_over(Nanos now) noexcept;
    // How long ago a copy left, at most.
    Nanos age(const PacketRecord&, Nanos now) const noexcept;

  private:
    // Copies with a tx_ts in [first, last] left at `left` only.
    struct Burst {
        std::uint32_t first = 0;
        std::uint32_t last = 0;
        Nanos begun = kNever;  // kNever: none
        Nanos left = 0;
    };

    Context& ctx_;
    Burst giving_;   // copies given out, not yet known to have left
    Burst held_up_;  // the last ones that were held up
};

}  // namespace csaud
