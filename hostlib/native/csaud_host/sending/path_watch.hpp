// What becomes of copies, told to the paths that they took; and paths that are assumed bad, probed until they
// answer.
#pragma once

#include <cstdint>

#include "csaud_host/base/time.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/peers/liveness.hpp"
#include "csaud_host/sending/sends.hpp"

namespace csaud {

class PathWatch {
  public:
    PathWatch(Context& c, Liveness& l, Sends& s) : ctx_(c), liveness_(l), sends_(s) {}

    // All packets of a message have arrived; some are not known to have.
    void all_arrived(const SendMessage&, Peer&);
    // A copy was lost.
    void lost(Peer&, const PacketRecord&, PathFeedback, Nanos now);
    // The receiver has counted so many marks on a path.
    void marked(Peer&, std::uint16_t path, std::uint16_t count);

    // There is something to send to the peer: a path that is assumed bad is probed.
    void resume(Peer& peer, Nanos now) {
        if (peer.paths.any_bad()) probe_later(peer, now);
    }
    void on_timer(std::uint16_t rank, Nanos now);
    // A probe on a path was answered.
    void answered(Peer&, std::uint16_t path);

  private:
    void probe_later(Peer&, Nanos now);

    Context& ctx_;
    Liveness& liveness_;
    Sends& sends_;
};

}  // namespace csaud
