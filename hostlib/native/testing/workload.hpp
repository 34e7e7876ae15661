// Collectives on the virtual network, as their schedules send: what they took, flow by flow.
#pragma once

#include <cstdint>
#include <vector>

#include "virtual_network.hpp"

namespace csaud::testing {

enum class Pattern : std::uint8_t {
    ring,        // all-reduce: 2 (ranks - 1) steps, each rank to the next one
    all_to_all,  // each rank to each other one, its followers first
    incast,      // all ranks to rank 0
    urgent,      // a ring of short messages of class 0 beside an all-to-all; only the ring is measured
};

struct Workload {
    Pattern pattern = Pattern::ring;
    std::uint16_t ranks = 2;
    std::uint16_t packets = 32;        // of a message, all full
    std::uint16_t urgent_packets = 2;  // of one of the ring beside an all-to-all
    std::uint16_t iterations = 1;      // one after the other, with all ranks ready for it
    std::uint16_t warm_up = 0;         // of them, which are not measured
    Nanos pause = 50 * kMicrosecond;   // between two
    Nanos limit = 10 * kSecond;        // of an iteration
};

struct WorkloadResult {
    std::vector<Nanos> flows;        // from the post of a send to its last packet's arrival
    std::vector<Nanos> completions;  // of iterations
    std::uint64_t sends = 0;
    std::uint64_t sends_open = 0;  // whose senders did not learn that they arrived
    bool finished = false;         // all within the limit
    Stats totals;                  // over all ranks and iterations
    FabricCounts counts;
};

// The same arguments give the same result.
WorkloadResult run(const Workload&, const EndpointConfig&, const LinkModel&, const Chance&);

}  // namespace csaud::testing
