// What switches tell of copies that they cut, and what paths that are FIFO tell of holes, on its way to the
// senders.
#pragma once

#include <algorithm>
#include <cstdint>

#include "csaud_host/base/time.hpp"
#include "csaud_host/contract/memory.hpp"
#include "csaud_host/loss/loss_notices.hpp"
#include "csaud_host/loss/loss_pacer.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/receiving/receives.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud {

class LossReports {
  public:
    LossReports(Context& c, Receives& r) : ctx_(c), receives_(r) {}

    // True where this rank had no notice of the copy before.
    bool first_notice(const CopyName& copy) { return notices_.add(copy); }
    // A switch has told of it.
    bool told(const CopyName& copy) const noexcept { return notices_.contains(copy); }

    // Are holes of it known, by notices that wait for their turn? Anybody can make a LOSS, and have as many
    // wait as are held: where some have waited for long, and nothing of the message has come, they count no
    // more.
    bool noticed(const Receive& m, Nanos now) const noexcept {
        return m.held_notices > 0 &&
               now - std::max(pacer_.busy_since(), m.detector.last_arrival()) < ctx_.longest_wait();
    }

    // A copy for us was lost: passed on now or in its turn, if it still matters.
    void lost(const CopyName&, std::uint16_t total, const Peer&, Nanos now);
    // A DATA copy came: a path may show a hole, and a notice that is held may go.
    void delivered(const wire::CsaHeader& h, Peer& peer, Nanos now) {
        if (!peer.rx_paths[h.path_id].in_turn(ctx_.path_serial, h.path_seq)) track_path(h, peer);
        if (pacer_.data_arrived()) release(now);
    }
    // Held notices waited for DATA that did not come.
    void on_timer(Nanos now) { release(now); }
    void clear() { pacer_.clear(); }

    void report(MemoryUse& use) const noexcept { use.notices = notices_.bytes(); }

  private:
    void track_path(const wire::CsaHeader&, Peer&);
    void pass_on(const LossPacer::Notice&);
    void release(Nanos now);

    Context& ctx_;
    Receives& receives_;
    LossNotices notices_;
    LossPacer pacer_;
};

}  // namespace csaud
