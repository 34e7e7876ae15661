// Which packet of a connection goes next: its window, and what it does about losses.
#pragma once

#include <cstdint>

#include "csaud_host/base/time.hpp"

namespace csaud::sim::baselines {

// Why a packet goes.
enum class Cause : std::uint8_t { first, gap, timeout };

// What a receiver says: all below `ack` has come; of a NACK also that `psn` came out of order.
struct Answer {
    std::uint32_t ack = 0;
    std::uint32_t psn = 0;
    bool negative = false;
};

class SendOrder {
  public:
    virtual ~SendOrder() = default;

    // PSNs below `end` exist from now on.
    virtual void extend(std::uint32_t end) = 0;
    virtual bool ready() const = 0;
    struct Next {
        std::uint32_t psn;
        Cause cause;
    };
    // Only where it is ready.
    virtual Next take(Nanos now) = 0;
    virtual void answered(const Answer& answer, Nanos now) = 0;
    // The deadline may have come; true: it has, and something goes again.
    virtual bool timer(Nanos now) = 0;
    virtual Nanos deadline() const = 0;
    // All below have arrived.
    virtual std::uint32_t acked() const = 0;
};

// What a receiver does with a packet, and says.
class ReceiveOrder {
  public:
    virtual ~ReceiveOrder() = default;

    enum class Verdict : std::uint8_t { taken, duplicate, discarded };
    struct Reply {
        Verdict verdict;
        bool answer;  // at all
        Answer what;
    };
    virtual Reply data(std::uint32_t psn, Nanos now) = 0;
    // The next PSN that is not there: all below may be used.
    virtual std::uint32_t expected() const = 0;
};

}  // namespace csaud::sim::baselines
