// The end of a job that failed, as this endpoint lives it: everything unfinished ends, what is posted later
// is refused, and who still talks to us is told (peers/abort.hpp).
#pragma once

#include <cstdint>

#include "csaud_host/base/time.hpp"
#include "csaud_host/peers/abort.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/peers/liveness.hpp"
#include "csaud_host/receiving/receiver.hpp"
#include "csaud_host/sending/sender.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud {

class JobEnd {
  public:
    JobEnd(Context& c, Liveness& l, Receiver& r, Sender& s)
        : ctx_(c), receiver_(r), sender_(s), abort_(c, l) {}

    bool come() const noexcept { return abort_.active(); }
    bool settled() const noexcept { return abort_.settled(); }

    // Ends everything. `flood`: this rank found out itself and tells all others.
    void fail(Status, std::uint16_t rank, bool flood, Nanos now);
    void on_timer(std::uint32_t index, Nanos now) { abort_.on_timer(index, now); }

    // A peer says that it has come.
    void on_abort(const wire::Decoded&, Peer&, Nanos now);
    // A peer answered a ping.
    void on_pong(Peer& peer, const wire::ControlPart& c, Nanos now) noexcept { abort_.alive(peer, c, now); }
    // Any packet, once it has come.
    void on_packet(const wire::Decoded&, Nanos now);
    // What becomes of a post, once it has come; returns its id.
    std::uint64_t refuse(const MessageName&, CompletionKind, std::size_t bytes, Nanos now);

  private:
    Context& ctx_;
    Receiver& receiver_;
    Sender& sender_;
    AbortState abort_;
};

}  // namespace csaud
