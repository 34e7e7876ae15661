// Everything a caller can set on an endpoint, with its unit. Values that both ends must share are marked
// (job).
#pragma once

#include <cstdint>

#include "csaud_host/base/time.hpp"
#include "csaud_host/paths/path_policy.hpp"
#include "csaud_host/wire/authentication.hpp"

namespace csaud {

// What of the losses an endpoint may act on. A detector that is switched off causes no retransmission; the
// messages that it shares with other duties (PROBE heals a lost ACK, LOSS is part of the books) stay.
struct DetectorSwitches {
    bool loss = true;      // LOSS notices from switches
    bool gap = true;       // holes in path_seq of an ordered path
    bool interval = true;  // the receiver's adaptive interval
    bool probe = true;     // the sender's probe
};

// Terms of the adaptive interval beyond its base, which is RACK's: a quarter of a round trip, and the time of
// three packets.
struct IntervalSwitches {
    bool reorder = true;  // the measured reordering takes the quarter round trip's place
    bool hurry = true;    // half the margin where something was lost silently of late
};

// Widths of running numbers. The wire has room for the defaults; tests narrow them to force every
// wrap-around.
struct SequenceBits {
    unsigned path_seq = 16;  // (job)
    unsigned tx_ts = 32;     // (job)
    unsigned credit = 32;    // (job)
    unsigned ecn = 16;       // (job)
};

struct LocalAddress {
    std::uint32_t ipv4 = 0;  // host byte order
    std::uint32_t qpn = 0;   // 24 bits
};

struct EndpointConfig {
    std::uint16_t rank = 0;
    std::uint16_t world = 1;  // (job)
    std::uint16_t epoch = 0;  // (job) packets of another epoch are counted and dropped
    std::uint32_t qkey = 0;   // (job) 31 bits
    LocalAddress local;
    Authentication auth;  // (job)

    // Wire
    std::uint16_t path_mtu = 4096;      // (job) bytes from the CSA header on; payload per packet is 32 less
    std::uint16_t roce_port = 4791;     // (job) UDP destination port
    std::uint16_t loss_port = 49791;    // (job) UDP destination port of trimmed packets
    std::uint16_t udp_source_port = 0;  // 0: 0xC000 | path_id, so that plain ECMP fabrics spread packets too
    bool zero_ip_id = false;            // the kernel's UDP sockets send id 0; raw ones need a non-zero id
    bool make_icrc = true;              // false where the device makes it: its place is left zero
    bool verify_icrc = true;            // false where the device checks it, or cannot show the sender's IP id
    std::uint8_t tos = 0;               // DSCP of every packet, with two low bits of zero
    bool ecn = true;                    // DATA goes as ECT(0), so that switches may mark it
    std::uint8_t ttl = 64;              // hops
    std::uint32_t tx_ts_unit_ns = 1'000;  // (job) nanoseconds of one tick of tx_ts
    SequenceBits bits;                    // (job)

    // Paths
    std::uint16_t paths = 16;  // (job) number of path ids
    std::uint8_t spray = 0;    // spray mode asked of the switches, 0 = the fabric's default
    PathPolicyName path_policy = PathPolicyName::mixed;
    bool ordered = false;  // each (destination, path) is FIFO: ECMP, entropy hash, host-directed

    // Credit and pacing
    std::uint32_t window = 32;  // (job) packets granted to a sender that was heard
    bool shaping = true;  // (job) the window reacts to marks, delay and other senders; false: it is fixed
    std::uint32_t shared_window = 128;  // (job) packets under way to one rank at most, all senders together
    // (job) packets held for receives not yet posted, all peers together; memory is taken as they come.
    std::uint32_t early_pool_packets = 32'768;
    std::uint64_t pace_bps = 0;  // bit/s handed to the device at most, IP header included; 0 = no pacing
    std::uint64_t rate_bps = 10'000'000'000;  // bit/s of the link, a hint (bandwidth-delay product)

    // Loss detection
    DetectorSwitches detectors;
    IntervalSwitches interval_terms;
    Nanos fixed_interval = 0;                // in the adaptive interval's place; 0: adaptive
    bool parity = true;                      // what is lost silently is made good by PARITY where that pays
    unsigned parity_rows = 0;                // of every message, whatever is lost; 0: as many as pay
    Nanos rtt_initial = 2 * kMillisecond;    // until the first sample: what a loss is judged by
    Nanos rtt_refresh = 250 * kMillisecond;  // a receiver measures its active peers at least this often
    Nanos timer_tick = 50 * kMicrosecond;    // what the caller's timer resolves; floor of the interval
    Nanos queue_max = 20 * kMillisecond;     // Q_max: longest time a packet may stand in queues
    Nanos stall_tolerance = kMillisecond;  // later than this after a deadline, the caller itself was stopped

    // Liveness
    Nanos dead_after = 3'500 * kMillisecond;  // silence, while probed, after which a peer is given up
    unsigned dead_probes = 7;                 // unanswered probes, dead_after/8 apart, before that
    unsigned abort_repeats = 4;               // an ABORT is sent this often to each peer
    Nanos abort_spacing = 50 * kMillisecond;
    Nanos linger = 200 * kMillisecond;  // quiescent() holds after this long without a packet

    // Memory
    Nanos peer_rest = 10 * kSecond;  // a peer with which there was no traffic for so long is laid to rest
    // Finished messages remembered one by one; of older ones a watermark of coll_seq per (source,
    // communicator) is kept. So a message may finish later than at most so many that come after it in
    // coll_seq.
    std::uint32_t finished_memory = 65'536;
    // Active peers whose records a processor keeps near itself; what packets of more will need is fetched
    // ahead. Tests lower it to have that of a few.
    std::uint32_t cached_peers = 1024;
};

}  // namespace csaud
