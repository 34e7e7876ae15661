// What an endpoint knows of another rank. One with which there is no traffic rests: it costs its address and
// the numbers that must go on where they stopped.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "csaud_host/base/cache_line.hpp"
#include "csaud_host/base/index_map.hpp"
#include "csaud_host/base/pool.hpp"
#include "csaud_host/base/prefetch.hpp"
#include "csaud_host/base/ring_queue.hpp"
#include "csaud_host/base/time.hpp"
#include "csaud_host/contract/config.hpp"
#include "csaud_host/flow/credit.hpp"
#include "csaud_host/flow/ecn.hpp"
#include "csaud_host/flow/transfer.hpp"
#include "csaud_host/flow/window.hpp"
#include "csaud_host/loss/path_gap.hpp"
#include "csaud_host/loss/reorder.hpp"
#include "csaud_host/loss/rtt.hpp"
#include "csaud_host/loss/silent_loss.hpp"
#include "csaud_host/paths/peer_paths.hpp"

namespace csaud {

struct Receive;  // receiving/receives.hpp

struct alignas(kCacheLine) Peer {
    // What each DATA packet from it reads or changes, in few lines of cache
    CreditGrant grant;
    ReceiveWindow arrivals;
    std::vector<PathTracker> rx_paths;
    Receive* latest = nullptr;  // where the message that its last DATA was of was kept
    std::uint32_t echo_ts = 0;  // tx_ts of the last packet taken, 0: none
    bool credit_queued = false;
    std::uint8_t parity_rows = 0;  // that it sends of a message, of late
    std::uint16_t rank = 0;
    RttEstimator rtt;
    Nanos measure_at = 0;  // when the round trip is unknown or old; not later
    ClockOffset clock;
    QueueingEstimator queueing;
    Nanos last_heard = 0;
    ReorderEstimator reorder;
    unsigned unanswered = 0;  // pings in a row
    bool ever_heard = false;
    std::uint8_t without_parity = 0;  // messages since there were parity_rows
    LossTally lost;                   // its first copies, silently

    // From it, by message
    std::uint32_t incoming = 0;  // messages that began to arrive and are not complete
    std::uint32_t awaited = 0;   // receives posted and not complete
    std::uint32_t early = 0;     // its packets in the early pool
    Nanos mean_gap = 0;          // between packets of the last message, 0: unknown
    Nanos first_wait_mean = 0;   // from posting a receive to its first packet
    Nanos first_wait_dev = 0;

    // To it
    CreditAccount credit;
    SendWindow window;
    Turns turns;
    PeerPaths paths;
    std::vector<std::uint16_t> tx_seq;  // next path_seq by path
    RingQueue<Transfer> pending;        // sends with packets that never went, as they go
    std::vector<std::uint32_t> begun;   // sends of which something went and no ACK came
    SilentLoss silent;                  // first copies lost without a word
    LossCount loss_count;               // as it was last told
    Nanos send_gap = 0;                 // between first copies of the last message, 0: unknown
    bool in_ready = false;              // stands in the sender's ring of peers with work

    // Both ways
    std::unique_ptr<PeerEcn> ecn;  // nullptr: no mark was ever seen

    // Liveness
    Nanos silent_since = 0;  // not before we began to wait, nor before our own last long stop
    Nanos last_ping = 0;
    Nanos last_abort_reply = 0;
    Nanos doubted_abort = kNever;  // it seems to have sent an ABORT, and is asked; kNever: no
    unsigned abort_asked = 0;      // how often
    std::uint32_t waits = 0;       // unfinished messages that need this peer

    static constexpr std::size_t kOfData = 5 * kCacheLine;  // bytes of the first part
};

// A peer at rest.
struct RestingPeer {
    CreditAccount::Resting credit;
    CreditGrant::Resting grant;
    std::uint32_t rtt_us = 0;        // 0: never measured
    std::uint32_t last_heard_s = 0;  // at least 1; 0: never
    std::uint16_t path_seq = 0;      // next one, on whatever path
};

class PeerTable {
  public:
    explicit PeerTable(const EndpointConfig&);

    struct Address {
        std::uint32_t ipv4 = 0;
        std::uint32_t qpn = 0;
        friend bool operator==(const Address&, const Address&) = default;
        friend std::uint64_t hash_value(const Address& a) noexcept {
            return ((std::uint64_t{a.ipv4} << 24) ^ a.qpn) * 0x9e3779b97f4a7c15ULL >> 20;
        }
    };

    // Of another rank than our own, which is no peer.
    void set_address(std::uint16_t rank, std::uint32_t ipv4, std::uint32_t qpn);
    bool known(std::uint16_t rank) const noexcept {
        return rank < config_.world && entries_[rank].at.qpn != 0;
    }
    const Address& address(std::uint16_t rank) const noexcept { return entries_[rank].at; }
    // Whether packets may take a path, to whatever peer.
    void deny(std::uint16_t path, bool denied) { denied_[path] = denied; }

    PathState path_state(std::uint16_t rank, std::uint16_t path) const noexcept {
        if (const Peer* p = find(rank); p != nullptr) return p->paths.state(path);
        return denied_[path] ? PathState::denied : PathState::good;
    }

    // The rank at an address; -1: nobody's.
    std::int32_t rank_at(std::uint32_t ipv4, std::uint32_t qpn) const noexcept;

    // The peer's record; made, or brought back from its rest, when there is none. The rank is known.
    Peer& get(std::uint16_t rank) {
        Peer* const active = entries_[rank].active;
        return active != nullptr ? *active : activate(rank);
    }
    // The same where there is one.
    Peer* active(std::uint16_t rank) noexcept {
        return rank < config_.world ? entries_[rank].active : nullptr;
    }
    const Peer* active(std::uint16_t rank) const noexcept {
        return rank < config_.world ? entries_[rank].active : nullptr;
    }
    Peer* find(std::uint16_t rank) noexcept { return known(rank) ? entries_[rank].active : nullptr; }
    const Peer* find(std::uint16_t rank) const noexcept { return const_cast<PeerTable*>(this)->find(rank); }

    // What active() and address() read of it, whatever the rank is.
    void prefetch_entry(std::uint16_t rank) const noexcept {
        if (rank < config_.world) prefetch(&entries_[rank]);
    }

    // What the rank granted us, whether its record is active or not.
    CreditAccount credit(std::uint16_t rank) const noexcept;
    // Last time that the rank was heard; 0: never. In milliseconds once the peer rests.
    Nanos last_heard(std::uint16_t rank) const noexcept;

    // Lays to rest who has been idle since `before` at least. Nobody may hold a Peer& meanwhile.
    void rest(const Serial& path_serial, Nanos before);
    std::size_t active() const noexcept { return pool_.in_use(); }

    struct Bytes {
        std::size_t resting = 0;  // addresses and resting peers, of all ranks of the job
        std::size_t active = 0;   // records of active peers, their paths and their subnets'
        std::size_t ecn = 0;      // marks by path, of peers that had any
    };
    Bytes bytes() const noexcept;

  private:
    struct Entry {
        Address at;
        Peer* active = nullptr;
        RestingPeer resting;
        bool rested = false;  // `resting` holds what was
    };
    struct AddressOf {
        const std::vector<Entry>* entries;
        const Address& operator()(std::uint32_t rank) const noexcept { return (*entries)[rank].at; }
    };

    Peer& activate(std::uint16_t rank);
    void wake(Peer&, Entry&);
    CreditAccount credit_at_rest(const Entry&) const noexcept;

    const EndpointConfig& config_;
    std::vector<Entry> entries_;
    IndexMap<AddressOf> ranks_;
    std::unordered_map<std::uint16_t, std::unique_ptr<PeerEcn>> resting_ecn_;
    DeniedPaths denied_;
    SharedPaths all_paths_;
    std::unordered_map<std::uint32_t, SharedPaths> subnet_paths_;
    Pool<Peer> pool_;
};

}  // namespace csaud
