// What the parts of an endpoint share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "csaud_host/base/ring_queue.hpp"
#include "csaud_host/base/sequence.hpp"
#include "csaud_host/base/time.hpp"
#include "csaud_host/base/timer_heap.hpp"
#include "csaud_host/contract/completion.hpp"
#include "csaud_host/contract/config.hpp"
#include "csaud_host/contract/stats.hpp"
#include "csaud_host/flow/control_queue.hpp"
#include "csaud_host/loss/loss_memory.hpp"
#include "csaud_host/peers/peer.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud {

struct Context {
    explicit Context(const EndpointConfig& c)
        : config(c),
          peers(config),
          payload_bytes(c.path_mtu - wire::kCsaBytes - c.auth.bytes()),
          path_serial(c.bits.path_seq),
          ts_serial(c.bits.tx_ts),
          credit_serial(c.bits.credit),
          window_serial(std::min(c.bits.credit, 16U)),
          ecn_serial(c.bits.ecn) {
        for (auto* table : {&stats.tx_path, &stats.tx_path_lost, &stats.tx_path_ecn, &stats.rx_path_ecn})
            table->assign(c.paths, 0);
        const std::uint64_t floor = std::uint64_t{initial_window(c)} * (c.world > 1 ? c.world - 1U : 0U);
        credit_budget.extra_left = c.early_pool_packets > floor ? c.early_pool_packets - floor : 0;
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    const EndpointConfig config;
    Stats stats;
    PeerTable peers;
    TimerHeap timers;
    ControlQueue control;
    RingQueue<Completion> completions;
    CreditBudget credit_budget;
    const std::uint32_t longest_window = lone_window(config);
    std::size_t payload_bytes;
    Serial path_serial, ts_serial, credit_serial, window_serial, ecn_serial;
    std::uint64_t next_id = 1;
    std::uint32_t senders = 0;   // peers of which something is arriving: the present fan-in
    std::uint32_t awaited = 0;   // peers of which receives are posted
    RttEstimator round_trips;    // to all peers taken together
    SilentLoss silent;           // of what goes to all peers
    QueueingEstimator queueing;  // of what comes from all peers
    LossMemory loss_memory;      // the same
    std::map<std::uint16_t, std::string> notes_to, notes_from;  // the latest of each rank
    std::string abort_note;                                     // why the job was ended, for people

    std::uint32_t ticks(Nanos now) const noexcept {
        return ts_serial.wrap(static_cast<std::uint64_t>(now / config.tx_ts_unit_ns));
    }
    Nanos nanos(std::int64_t ticks_apart) const noexcept { return ticks_apart * config.tx_ts_unit_ns; }

    // Silence after which a peer that we wait for is pinged, and time between pings.
    Nanos beat() const noexcept { return config.dead_after / 8; }
    // How soon a peer may be asked. A question does no harm, so of one whose round trip is not known yet it
    // is that of the others, or, where none is known, far less than what a packet is taken for lost after.
    Nanos patience_to_ask(const Peer& p) const noexcept {
        if (p.rtt.measured()) return p.rtt.patience();
        return round_trips.measured() ? round_trips.patience() : config.rtt_initial / 16;
    }

    // Cap of all timers that back off: their answers come before a ping is due.
    Nanos longest_wait() const noexcept { return beat() - beat() / 8; }

    // Time of a full packet on the link.
    Nanos packet_time() const noexcept { return time_of(config.path_mtu); }
    // The same with all that a link adds to it, and a little more: packets that come no faster than this need
    // no queue.
    Nanos turn_time() const noexcept {
        constexpr std::uint64_t kAround = 20 + 8 + 12 + 8 + 4 + 14 + 24;  // headers, iCRC, Ethernet
        return time_of((config.path_mtu + kAround) * 33 / 32);
    }
    Nanos time_of(std::uint64_t bytes) const noexcept {
        return static_cast<Nanos>(bytes * 8 * kSecond / config.rate_bps);
    }
};

}  // namespace csaud
