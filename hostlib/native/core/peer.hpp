// What an endpoint knows of another rank. An idle rank costs its address; the rest exists once there is
// traffic.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "config.hpp"
#include "credit.hpp"
#include "ecn.hpp"
#include "flat_map.hpp"
#include "path_gap.hpp"
#include "path_policy.hpp"
#include "pool.hpp"
#include "reorder.hpp"
#include "ring_queue.hpp"
#include "rtt.hpp"

namespace csaud {

struct Peer {
    std::uint16_t rank = 0;

    // To it
    CreditAccount credit;
    RoundRobinPaths paths;
    std::vector<std::uint16_t> tx_seq;  // next path_seq by path
    RingQueue<Handle> pending;          // sends with packets that never went, in the order posted
    std::vector<std::uint32_t> begun;   // sends of which something went and no ACK came
    EcnEcho ecn_echo;
    bool in_ready = false;  // stands in the sender's ring of peers with work

    // From it
    CreditGrant grant;
    std::vector<PathTracker> rx_paths;
    EcnMarks ecn;
    ReorderEstimator reorder;
    Nanos mean_gap = 0;         // between packets of the last message, 0: unknown
    Nanos first_wait_mean = 0;  // from posting a receive to its first packet
    Nanos first_wait_dev = 0;
    std::uint32_t incoming = 0;  // messages that began to arrive and are not complete
    std::uint32_t early = 0;     // its packets in the early pool
    bool credit_queued = false;
    std::uint32_t echo_ts = 0;  // tx_ts of the last packet taken, 0: none

    // Both ways
    RttEstimator rtt;
    ClockOffset clock;
    QueueingEstimator queueing;

    // Liveness
    Nanos last_heard = 0;
    Nanos silent_since = 0;  // not before we began to wait, nor before our own last long stop
    Nanos last_ping = 0;
    Nanos last_abort_reply = 0;
    std::uint32_t waits = 0;  // unfinished messages that need this peer
    unsigned unanswered = 0;  // pings in a row
    bool ever_heard = false;
};

struct PeerAddress {
    std::uint32_t ipv4 = 0;
    std::uint32_t qpn = 0;
    std::uint32_t active = kNone;  // place among the active peers
};

class PeerTable {
  public:
    explicit PeerTable(const EndpointConfig&);

    void set_address(std::uint16_t rank, std::uint32_t ipv4, std::uint32_t qpn);
    bool known(std::uint16_t rank) const noexcept {
        return rank < addresses_.size() && addresses_[rank].qpn != 0 && rank != config_.rank;
    }
    const PeerAddress& address(std::uint16_t rank) const noexcept { return addresses_[rank]; }
    // The rank at an address; -1: nobody's.
    std::int32_t rank_at(std::uint32_t ipv4, std::uint32_t qpn) const noexcept;

    // The peer's record; made at first use. The rank is known.
    Peer& get(std::uint16_t rank);
    Peer* find(std::uint16_t rank) noexcept {
        return known(rank) && addresses_[rank].active != kNone ? &pool_[addresses_[rank].active] : nullptr;
    }
    const Peer* find(std::uint16_t rank) const noexcept { return const_cast<PeerTable*>(this)->find(rank); }

  private:
    struct At {
        std::uint32_t ipv4 = 0;
        std::uint32_t qpn = 0;
        friend bool operator==(const At&, const At&) = default;
        friend std::uint64_t hash_value(const At& a) noexcept {
            return ((std::uint64_t{a.ipv4} << 24) ^ a.qpn) * 0x9e3779b97f4a7c15ULL >> 20;
        }
    };

    const EndpointConfig& config_;
    std::vector<PeerAddress> addresses_;
    FlatMap<At, std::uint16_t> ranks_;
    Pool<Peer> pool_;
};

}  // namespace csaud
