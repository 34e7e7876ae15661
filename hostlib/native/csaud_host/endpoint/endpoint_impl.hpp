// The endpoint's parts put together, and the way of a packet to the part that it concerns.
#pragma once

#include "csaud_host/base/time.hpp"
#include "csaud_host/endpoint/endpoint.hpp"
#include "csaud_host/endpoint/transmitter.hpp"
#include "csaud_host/peers/abort.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/peers/liveness.hpp"
#include "csaud_host/transfers/receiver.hpp"
#include "csaud_host/transfers/sender.hpp"

namespace csaud {

class EndpointImpl {
  public:
    explicit EndpointImpl(const EndpointConfig&);

    std::uint64_t post_send(const MessageName&, std::uint16_t, std::span<const std::byte>, const Hints&,
                            Nanos);
    std::uint64_t post_recv(const MessageName&, std::uint16_t, std::span<std::byte>, const Hints&, Nanos);
    void on_packet(std::span<const std::byte>, Nanos);
    void on_timer(Nanos);
    Nanos next_deadline() const noexcept;
    bool next_completion(Completion&);
    void fail(Status, std::uint16_t rank, bool flood, Nanos);
    bool quiescent(Nanos) const;

    Context ctx;
    Liveness liveness;
    Receiver receiver;
    Sender sender;
    Transmitter transmitter;
    AbortState aborting;

  private:
    void check_post(const MessageName&, const char* what, std::uint16_t peer, std::uint16_t src,
                    std::size_t) const;
    std::uint64_t refused(const MessageName&, CompletionKind, std::size_t bytes, Nanos);
    void expect_rest(Nanos now);
    void count(wire::Fault) noexcept;
    bool from_its_rank(const wire::Decoded&) const noexcept;
    bool authentic(const wire::Decoded&) const noexcept;
    bool sane_control(const wire::Decoded&) const noexcept;
    bool accept_control(const wire::Decoded&, Nanos);
    void on_loss(const wire::Decoded&, Nanos);
    void on_control(const wire::Decoded&, Nanos);
    void on_probe(const wire::Decoded&, Nanos);
    void on_abort(const wire::Decoded&, Peer&, Nanos);
    void after_abort(const wire::Decoded&, Nanos);

    wire::Expect expect_;
    Nanos last_packet_ = 0;
    bool resting_ = false;  // the timer that lays idle peers to rest is armed
};

}  // namespace csaud
