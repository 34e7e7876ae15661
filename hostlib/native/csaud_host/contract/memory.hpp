// Where an endpoint's memory is, in bytes taken from the system. Not counted: the heap's own overhead.
#pragma once

#include <cstddef>

namespace csaud {

struct MemoryUse {
    std::size_t peers = 0;         // addresses and resting peers, of all ranks of the job
    std::size_t active_peers = 0;  // with traffic: estimators, and numbers by path
    std::size_t ecn = 0;           // of peers with marks: counts by path
    std::size_t sends = 0;         // records of unfinished sends, and the index of their names
    std::size_t receives = 0;      // the same of receives
    std::size_t timers = 0;
    // Pools that messages share
    std::size_t copies = 0;    // of packets under way: when and on which path each went
    std::size_t arrivals = 0;  // of messages with holes: when what arrived
    std::size_t parity = 0;    // rows of parity, sent and received
    std::size_t early = 0;     // packets whose receives are not posted
    // Of what is over
    std::size_t finished = 0;  // names of finished messages
    std::size_t notices = 0;   // losses told by switches

    // Calls f(const char* name, std::size_t bytes) for each.
    template <class F>
    void for_each(F&& f) const {
        f("peers", peers);
        f("active_peers", active_peers);
        f("ecn", ecn);
        f("sends", sends);
        f("receives", receives);
        f("timers", timers);
        f("copies", copies);
        f("arrivals", arrivals);
        f("parity", parity);
        f("early", early);
        f("finished", finished);
        f("notices", notices);
    }
};

}  // namespace csaud
