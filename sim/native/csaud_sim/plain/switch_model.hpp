// What a plain switch does with packets: how much room they have, where marks begin, how paths are chosen.
#pragma once

#include <array>
#include <cstdint>

#include "csaud_sim/plain/packet.hpp"

namespace csaud::sim::plain {

// ecmp: a hash of the flow; random: of each packet at random; flowlet: at random after each pause of a flow
// (LetFlow).
enum class Spray : std::uint8_t { ecmp, random, flowlet };

struct SwitchModel {
    Spray spray = Spray::ecmp;
    Nanos flowlet_gap = 100'000;
    bool failover = false;         // a port that is down is left at once; otherwise when routes leave it
    bool in_bytes = false;         // limits and marks are in bytes; otherwise in packets
    bool mark_leaving = false;     // by what waits when a packet leaves; otherwise when it arrives
    bool trim = false;             // DATA without room is cut to its headers, and goes on before other DATA
    std::uint32_t cut_bytes = 60;  // of the frame that is left
    // PFC: DATA is lossless, whatever the room of a port. A packet counts for the port by which it came until
    // it leaves; one that has more than a share of what is free of the switch's buffer is told to pause.
    bool pfc = false;
    std::uint64_t buffer_bytes = 9'000'000;  // of a switch
    double pause_share = 1.0 / 16;
    std::uint64_t resume_bytes = 3'000;  // so far below the threshold it may send again
};

// Of one port. What waits is compared as it is before the packet in question joins it; the packet that is
// being sent does not wait any more.
struct Room {
    std::uint64_t data = UINT64_MAX;     // DATA from here on is lost or cut
    std::uint64_t control = UINT64_MAX;  // everything else
    std::uint64_t low = UINT64_MAX;      // marks: none below
    std::uint64_t high = UINT64_MAX;     // all from here on
    double highest = 1.0;                // probability just below `high`; it rises from 0 at `low`
    std::uint32_t mark_seed = 0;
};

struct Fault {
    std::uint32_t threshold = 0;  // of 2^32
    std::uint32_t seed = 0;
    bool signalled = false;  // as if there were no room
};

struct SwitchFigures {
    std::uint64_t hops = 0;
    std::array<std::uint64_t, kKinds> injected{};  // lost without a word, by kind
    std::array<std::uint64_t, kKinds> dropped{};   // no room, or a fault that is signalled
    std::array<std::uint64_t, kKinds> no_path{};   // no route leads on
    std::uint64_t cut = 0, marked = 0;             // DATA
    std::uint64_t pauses = 0;
    std::uint64_t most_queued = 0;  // bytes at one port
    std::uint64_t most_held = 0;    // bytes at all of them
};

}  // namespace csaud::sim::plain
