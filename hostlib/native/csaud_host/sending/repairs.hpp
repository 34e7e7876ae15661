// Copies that were lost, and go again in the order in which that was found from what receivers and switches
// report.
#pragma once

#include <cstdint>

#include "csaud_host/base/ring_queue.hpp"
#include "csaud_host/base/time.hpp"
#include "csaud_host/loss/retransmission.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/sending/copy.hpp"
#include "csaud_host/sending/departures.hpp"
#include "csaud_host/sending/path_watch.hpp"
#include "csaud_host/sending/probes.hpp"
#include "csaud_host/sending/sends.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud {

class Repairs {
  public:
    Repairs(Context& c, Sends& s, Departures& d, Probes& p, PathWatch& w)
        : ctx_(c),
          sends_(s),
          departures_(d),
          probes_(p),
          paths_(w),
          counts_{&c.stats.rtx_loss, &c.stats.rtx_gap, &c.stats.rtx_interval, &c.stats.rtx_probe} {}

    // A switch told of a copy.
    void reported(std::uint32_t index, std::uint16_t pkt_idx, std::uint8_t attempt, Nanos now);
    // A path of the peer has a hole.
    void gap(Peer&, const wire::ControlPart&, Nanos now);
    // A STATE says what has arrived: queues what it shows to be lost; returns how many packets that were.
    // late: how long it stood in queues.
    unsigned missing(std::uint32_t index, const Peer&, const wire::Decoded&, Nanos late, Nanos now);

    // Time stamps wrap: copies that left longer ago than a quarter of their range are taken to have left
    // then, lest they seem to come from the future. Whoever waits has it done now and then.
    void keep_comparable(const SendMessage&, Nanos now) noexcept;

    bool empty() const noexcept { return queue_.empty(); }
    bool next(Copy&, Nanos now);
    void clear() noexcept { queue_.clear(); }

  private:
    void queue(std::uint32_t index, std::uint16_t pkt_idx, Detector, PathFeedback, Nanos now);

    Context& ctx_;
    Sends& sends_;
    Departures& departures_;
    Probes& probes_;
    PathWatch& paths_;
    std::uint64_t* counts_[4];  // by Detector
    RingQueue<Retransmission> queue_;
};

}  // namespace csaud
