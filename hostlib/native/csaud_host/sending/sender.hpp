// The sending half of an endpoint: sends under the credit that receivers grant, keeps no timer per packet,
// and decides from what receivers report which copies to send again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "csaud_host/base/time.hpp"
#include "csaud_host/contract/memory.hpp"
#include "csaud_host/contract/pending_message.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/peers/liveness.hpp"
#include "csaud_host/sending/copy.hpp"
#include "csaud_host/sending/departures.hpp"
#include "csaud_host/sending/first_copies.hpp"
#include "csaud_host/sending/parity_copies.hpp"
#include "csaud_host/sending/path_watch.hpp"
#include "csaud_host/sending/probes.hpp"
#include "csaud_host/sending/repairs.hpp"
#include "csaud_host/sending/reports.hpp"
#include "csaud_host/sending/sends.hpp"

namespace csaud {

class Sender {
  public:
    Sender(Context& c, Liveness& l)
        : ctx_(c),
          liveness_(l),
          sends_(c, l),
          departures_(c),
          probes_(c),
          paths_(c, l, sends_),
          reports_(c, sends_),
          parity_(c, sends_),
          first_(c, sends_, departures_, probes_, parity_),
          repairs_(c, sends_, departures_, probes_, paths_) {}

    std::uint64_t post(const MessageName&, std::uint16_t dst, std::span<const std::byte>, const Hints&,
                       Nanos now);

    // Whether what is said of messages can be: asked before it is handed to what follows.
    Reports& reports() noexcept { return reports_; }
    void on_ack(const wire::Decoded&, Nanos now);
    // late: how long the packet stood in queues, in nanoseconds.
    void on_state(const wire::Decoded&, Nanos late, Nanos now);
    void on_not_ready(const wire::Decoded&, Nanos now);
    // A switch sent back a copy of ours that was for `dst`.
    void on_bounce(const wire::Decoded&, std::uint16_t dst, Nanos now);
    // There may be new credit, or room in the window.
    void on_room(Peer& peer, Nanos now) { first_.consider(peer, now); }
    // It is known by now how soon an answer of the peer can be here.
    void on_first_round_trip(Peer& peer, Nanos now);
    // Our turn to send to a rank to which many do.
    void on_turn(std::uint16_t rank, Nanos now);

    PathWatch& paths() noexcept { return paths_; }

    // All copies given out so far have left the device.
    void handed_over(Nanos now) noexcept { departures_.handed_over(now); }

    void on_timer(std::uint32_t index, Nanos now);

    void fail_all(Status, std::uint16_t rank, Nanos now);

    // The next DATA copy to send.
    bool next_copy(Copy&, Nanos now);
    bool has_copies() const noexcept { return !repairs_.empty() || !first_.empty() || !parity_.empty(); }
    // The completion of a message was taken: nothing of it is read any more.
    void taken(std::uint64_t id) { parity_.taken(id); }

    std::size_t unfinished() const noexcept { return sends_.unfinished(); }
    void list(std::vector<PendingMessage>& out) const { sends_.list(out); }
    void report(MemoryUse& use) const noexcept {
        sends_.report(use);
        use.parity += parity_.bytes();
    }

  private:
    void finish(std::uint32_t index, Status, std::uint16_t rank, Nanos now);
    // The answer to a STATE of which nothing goes again. kNone: of a message that is not here.
    void answer_interval(std::uint32_t index, const wire::Decoded&);

    Context& ctx_;
    Liveness& liveness_;
    Sends sends_;
    Departures departures_;
    Probes probes_;
    PathWatch paths_;
    Reports reports_;
    ParityCopies parity_;
    FirstCopies first_;
    Repairs repairs_;
};

}  // namespace csaud
