// Packets that never went: peers in turn, as credit, window and turns allow; to a peer, transfer after
// transfer as they were posted, but that a short one does not wait for long ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "csaud_host/base/ring_queue.hpp"
#include "csaud_host/base/time.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/sending/copy.hpp"
#include "csaud_host/sending/departures.hpp"
#include "csaud_host/sending/parity_copies.hpp"
#include "csaud_host/sending/probes.hpp"
#include "csaud_host/sending/sends.hpp"

namespace csaud {

class FirstCopies {
  public:
    FirstCopies(Context& c, Sends& s, Departures& d, Probes& p, ParityCopies& y)
        : ctx_(c), sends_(s), departures_(d), probes_(p), parity_(y) {}

    // A message waits to be sent from now on.
    void add(std::uint32_t index, Peer&, const Hints&, Nanos now);
    // There may be work for the peer, and room.
    void consider(Peer&, Nanos now);
    // The receive is posted: what is left of the message needs no credit.
    void awaited(std::uint32_t index, Peer&, Nanos now);

    // A message ends before all of it was sent.
    void leave(std::uint32_t index, Peer&) noexcept;

    // The first message to the peer of which something never went; nullptr: there is none.
    SendMessage* first(Peer&) noexcept;
    bool may_send(Peer&) noexcept;

    bool empty() const noexcept { return ready_.empty(); }
    bool next(Copy&, Nanos now);
    void clear() noexcept { ready_.clear(); }

  private:
    // A message takes its place among those that wait for the peer.
    void line_up(std::uint32_t index, Peer&);
    // Packets of its transfer that wait, those at `from` and behind.
    std::uint32_t waiting(const SendMessage&, Peer&, std::size_t from) noexcept;
    // Credit does not keep it.
    bool sendable(const Transfer&, const Peer&) noexcept;
    // Of the transfer that goes next; none does where the place is that of nobody.
    std::size_t next_place(Peer&) noexcept;
    void note_place(Peer&, std::size_t place) noexcept;
    void leave(std::uint32_t index, Peer&, std::size_t place) noexcept;

    Context& ctx_;
    Sends& sends_;
    Departures& departures_;
    Probes& probes_;
    ParityCopies& parity_;
    RingQueue<std::uint16_t> ready_;  // ranks with packets that never went and credit for them
};

}  // namespace csaud
