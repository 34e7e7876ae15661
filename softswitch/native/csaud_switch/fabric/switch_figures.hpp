// What a switch counts. Every packet that it got ends as one of these.
#pragma once

#include <cstdint>

namespace csaud::sw {

struct SwitchFigures {
    std::uint64_t rx = 0, copies = 0;
    std::uint64_t dropped_ingress = 0, dropped_egress = 0;
    std::uint64_t no_such_port = 0, bad_priority = 0, queue_full = 0, link_down = 0;
    std::uint64_t packet_in = 0, packet_in_overflow = 0;
    std::uint64_t tx = 0, tx_errors = 0;
    std::uint64_t flushed = 0;  // queued when the program was replaced or their port removed
    std::uint64_t assertions = 0;
    std::uint64_t resubmitted = 0, recirculated = 0;  // passes, not packets
    std::uint64_t looped = 0;                         // ended after too many passes, or grown too long
    std::uint64_t digests = 0, digest_overflow = 0;
};

}  // namespace csaud::sw
