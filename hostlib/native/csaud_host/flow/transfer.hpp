// Messages of one call to one rank that wait to be sent, one behind the other: what was too long for one
// message. Their order is that of the posts, and they have one place among what waits for that rank.
#pragma once

#include <cstdint>

#include "csaud_host/base/pool.hpp"

namespace csaud {

struct Transfer {
    std::uint32_t first = kNone;  // sends; each knows the one behind it
    std::uint32_t last = kNone;
    std::uint32_t left = 0;     // packets that never went
    std::uint32_t yields = 0;   // packets of transfers posted later that it still lets before it
    std::uint8_t in_a_row = 0;  // packets since a shorter one behind it had its place
};

}  // namespace csaud
