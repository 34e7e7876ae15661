#include "csaud_host/endpoint/endpoint_impl.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace csaud {

EndpointImpl::EndpointImpl(const EndpointConfig& c)
    : ctx(c),
      liveness(ctx),
      receiver(ctx, liveness),
      sender(ctx, liveness),
      transmitter(ctx, sender, receiver),
      end(ctx, liveness, receiver, sender),
      gate_(ctx),
      foresight_(ctx, receiver),
      inbound_(ctx, liveness, receiver, sender, end) {}

void EndpointImpl::check_post(const MessageName& name, const char* what, std::uint16_t peer,
                              std::uint16_t src, std::size_t bytes) const {
    const auto fail = [&](const std::string& why) {
        throw std::invalid_argument(std::string(what) + ": " + why);
    };
    if (!ctx.peers.known(peer)) fail("rank " + std::to_string(peer) + " has no address");
    if (name.src_rank != src) fail("the name's src_rank is not the message's source");
    if (name.epoch != ctx.config.epoch) fail("the name is of another epoch");
    const std::size_t most = ctx.payload_bytes * kMaxPackets;
    if (bytes > most) fail(std::to_string(bytes) + " bytes, a message holds at most " + std::to_string(most));
}

void EndpointImpl::set_peer(std::uint16_t rank, std::uint32_t ipv4, std::uint32_t qpn) {
    ctx.peers.set_address(rank, ipv4, qpn);
    gate_.forget();
}

std::uint64_t EndpointImpl::post_send(const MessageName& name, std::uint16_t dst,
                                      std::span<const std::byte> buffer, const Hints& hints, Nanos now) {
    check_post(name, "post_send", dst, ctx.config.rank, buffer.size());
    if (end.come()) return end.refuse(name, CompletionKind::send, buffer.size(), now);
    expect_rest(now);
    return sender.post(name, dst, buffer, hints, now);
}

std::uint64_t EndpointImpl::post_recv(const MessageName& name, std::uint16_t src, std::span<std::byte> buffer,
                                      const Hints& hints, Nanos now) {
    check_post(name, "post_recv", src, src, buffer.size());
    if (end.come()) return end.refuse(name, CompletionKind::recv, buffer.size(), now);
    expect_rest(now);
    return receiver.post(name, src, buffer, hints, now);
}

void EndpointImpl::on_packet(std::span<const std::byte> packet, Nanos now) {
    const wire::Decoded* taken = gate_.admit(packet);
    if (taken == nullptr) return;
    last_packet_ = now;
    expect_rest(now);
    inbound_.on_packet(*taken, now);
}

void EndpointImpl::arm_rest(Nanos now) {
    resting_ = true;
    ctx.timers.arm(TimerKind::rest, 0, now + ctx.config.peer_rest);
}

void EndpointImpl::on_timer(Nanos now) {
    const Nanos promised = ctx.timers.next();
    if (promised > now) return;
    // Called much later than asked for, our own process was stopped, and what it missed lies unread or just
    // came in.
    const Nanos lateness = now - promised;
    const bool late = lateness > ctx.config.stall_tolerance;
    if (late) ++ctx.stats.stalls;
    if (lateness > ctx.beat() / 2) liveness.stalled(now);
    while (ctx.timers.next() <= now) {
        std::size_t left = ctx.timers.due(now, coming_);
        foresight_.before(std::span(coming_).first(left));
        // Each may move or cancel others.
        for (; left > 0 && ctx.timers.next() <= now; --left) on_timer_of(ctx.timers.pop(), late, now);
    }
}

void EndpointImpl::on_timer_of(const Timer& t, bool late, Nanos now) {
    const auto rank = static_cast<std::uint16_t>(t.index);
    switch (t.kind) {
        case TimerKind::recv:
            return receiver.on_timer(t.index, now, late);
        case TimerKind::send:
            return sender.on_timer(t.index, now);
        case TimerKind::notices:
            return receiver.on_notices_timer(now);
        case TimerKind::abort:
            return end.on_timer(t.index, now);
        case TimerKind::paths:
            return sender.paths().on_timer(rank, now);
        case TimerKind::turn:
            return sender.on_turn(rank, now);
        case TimerKind::rest:
            ctx.peers.rest(ctx.path_serial, now - ctx.config.peer_rest);
            resting_ = false;
            return expect_rest(now);
        case TimerKind::peer:
            if (Peer* p = ctx.peers.find(rank); p != nullptr && liveness.on_timer(*p, now))
                end.fail(Status::peer_unreachable, p->rank, true, now);
    }
}

Nanos EndpointImpl::next_deadline() const noexcept {
    return std::min(ctx.timers.next(), transmitter.deadline());
}

bool EndpointImpl::next_completion(Completion& c) {
    if (ctx.completions.empty()) return false;
    c = ctx.completions.pop();
    if (c.kind == CompletionKind::send) sender.taken(c.id);
    return true;
}

bool EndpointImpl::quiescent(Nanos now) const {
    return receiver.unfinished() == 0 && sender.unfinished() == 0 && ctx.control.empty() && end.settled() &&
           (last_packet_ == 0 || now - last_packet_ >= ctx.config.linger);
}

}  // namespace csaud
