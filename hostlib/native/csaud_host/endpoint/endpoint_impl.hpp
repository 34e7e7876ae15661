// The endpoint's parts put together: posts, packets and timers each to the part that they concern.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "csaud_host/base/time.hpp"
#include "csaud_host/endpoint/endpoint.hpp"
#include "csaud_host/endpoint/foresight.hpp"
#include "csaud_host/endpoint/gate.hpp"
#include "csaud_host/endpoint/inbound.hpp"
#include "csaud_host/endpoint/job_end.hpp"
#include "csaud_host/endpoint/transmitter.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/peers/liveness.hpp"
#include "csaud_host/receiving/receiver.hpp"
#include "csaud_host/sending/sender.hpp"

namespace csaud {

class EndpointImpl {
  public:
    explicit EndpointImpl(const EndpointConfig&);

    void set_peer(std::uint16_t rank, std::uint32_t ipv4, std::uint32_t qpn);
    std::uint64_t post_send(const MessageName&, std::uint16_t, std::span<const std::byte>, const Hints&,
                            Nanos);
    std::uint64_t post_recv(const MessageName&, std::uint16_t, std::span<std::byte>, const Hints&, Nanos);
    void on_packet(std::span<const std::byte>, Nanos);
    // So many come together now. True: they are likely of many peers, and foresee() is worth its time.
    bool on_batch(std::size_t packets) noexcept {
        return gate_.scattered(packets) && ctx.peers.active() > ctx.config.cached_peers;
    }
    void foresee(std::span<const std::span<const std::byte>> packets, std::size_t i) const noexcept {
        foresight_.before(packets, i);
    }
    void on_timer(Nanos);
    Nanos next_deadline() const noexcept;
    bool next_completion(Completion&);
    bool quiescent(Nanos) const;

    Context ctx;
    Liveness liveness;
    Receiver receiver;
    Sender sender;
    Transmitter transmitter;
    JobEnd end;

  private:
    void check_post(const MessageName&, const char* what, std::uint16_t peer, std::uint16_t src,
                    std::size_t) const;
    void on_timer_of(const Timer&, bool late, Nanos);
    // Looks for idle peers now and then, as long as any are active.
    void expect_rest(Nanos now) {
        if (!resting_ && ctx.peers.active() != 0) arm_rest(now);
    }
    void arm_rest(Nanos now);

    Gate gate_;
    Foresight foresight_;
    Inbound inbound_;
    std::array<Timer, 32> coming_;  // timers that are due
    Nanos last_packet_ = 0;
    bool resting_ = false;  // the timer that lays idle peers to rest is armed
};

}  // namespace csaud
