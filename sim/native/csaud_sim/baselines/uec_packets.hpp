// What a sender and a receiver of an Ultra-Ethernet-like transport tell each other about a connection.
#pragma once

#include <cstdint>

#include "csaud_sim/baselines/packet_ledger.hpp"

namespace csaud::sim::baselines {

struct UecData {
    std::uint32_t seq = 0;      // packets of the connection, from 0
    std::uint32_t payload = 0;  // bytes
    std::uint16_t path = 0;     // entropy value
    bool ack_request = false;
    Reason why = Reason::first;  // it goes
};

inline constexpr std::uint32_t kAckBits = 64;

struct UecAck {
    std::uint32_t next = 0;      // all before have arrived
    std::uint32_t base = 0;      // packet of the bitmap's lowest bit
    std::uint64_t bitmap = 0;    // those that have arrived
    std::uint32_t acked = 0;     // packet that brought this about, and
    std::uint16_t path = 0;      // its entropy value
    std::uint64_t received = 0;  // bytes of packets, with headers, each counted once
    bool marked = false;
    bool again = false;  // it was a retransmission
};

struct UecNack {
    std::uint32_t seq = 0;  // packet that came without its payload, and
    std::uint16_t path = 0;
    bool marked = false;
    bool last_hop = false;  // it was cut at the receiver's own link
};

}  // namespace csaud::sim::baselines
