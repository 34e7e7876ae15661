// The way of a packet that was admitted to the part of the endpoint that it concerns.
#pragma once

#include "csaud_host/base/time.hpp"
#include "csaud_host/endpoint/job_end.hpp"
#include "csaud_host/endpoint/plausibility.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/peers/liveness.hpp"
#include "csaud_host/receiving/receiver.hpp"
#include "csaud_host/sending/sender.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud {

class Inbound {
  public:
    Inbound(Context& c, Liveness& l, Receiver& r, Sender& s, JobEnd& e)
        : ctx_(c), liveness_(l), receiver_(r), sender_(s), end_(e), plausible_(c) {}

    [[gnu::always_inline]] void on_packet(const wire::Decoded& d, Nanos now) {
        if (d.csa.type == wire::Type::data && !end_.come() && receiver_.on_next(d, now)) return;
        on_other(d, now);
    }

  private:
    void on_other(const wire::Decoded&, Nanos now);
    void on_data(const wire::Decoded&, Nanos now);
    void on_parity(const wire::Decoded&, Nanos now);
    void on_loss(const wire::Decoded&, Nanos now);
    void on_control(const wire::Decoded&, Nanos now);
    // What every control packet tells beside its own matter; returns how long it stood in queues.
    Nanos learn(const wire::Decoded&, Peer&, Nanos now);
    void on_probe(const wire::Decoded&);
    void on_probe_rsp(const wire::Decoded&, Peer&, Nanos now);
    // Does it fit to what is known of its message? If not, it is counted and must change nothing.
    Reports::Verdict judge(const wire::Decoded&, Nanos now);

    Context& ctx_;
    Liveness& liveness_;
    Receiver& receiver_;
    Sender& sender_;
    JobEnd& end_;
    Plausibility plausible_;
};

}  // namespace csaud
