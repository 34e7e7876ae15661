#include "csaud_sim/baselines/host.hpp"

namespace csaud::sim::baselines {

Host::Host(const Place& place, const TransportKind& kind, const Parameters& parameters, const Seat& seat,
           std::uint32_t at, const plain::Wire& wire)
    : place_(place),
      rank_(seat.rank),
      transport_(kind.make(parameters, seat, *this)),
      agenda_(place.engine, place.open_work, *this, *this, seat.rank, 0),
      attached_(place.network.attach(*this, at, wire)),
      timer_(place.engine, *this, kTimer) {}

void Host::follow(collectives::Execution& execution, Nanos delay) {
    agenda_.follow(execution, delay);
    turn(place_.engine.now());
}

std::uint64_t Host::post_send(const MessageName& name, std::uint16_t dst, std::span<const std::byte> bytes,
                              const Hints&, Nanos now) {
    const std::uint64_t id = next_id_++;
    if (name.comm != kFlowComm) place_.messages.posted(name, dst, bytes.size(), now);
    transport_->send({id, name, dst, bytes.size()}, now);
    return id;
}

std::uint64_t Host::post_recv(const MessageName& name, std::uint16_t src, std::span<std::byte> bytes,
                              const Hints&, Nanos now) {
    const std::uint64_t id = next_id_++;
    inbox_.posted({id, CompletionKind::recv, Status::ok, src, bytes.size(), now, now, name}, now);
    return id;
}

void Host::delivered(const MessageName& name, std::uint64_t bytes, Nanos started, Nanos now) {
    inbox_.delivered({0, CompletionKind::recv, Status::ok, name.src_rank, bytes, started, now, name}, now);
}

void Host::acknowledged(const Message& message, Nanos now) {
    completions_.push(
        {message.id, CompletionKind::send, Status::ok, message.dst, message.bytes, now, now, message.name});
}

void Host::arrive(plain::Packet* packet, std::uint16_t, Nanos now) {
    transport_->packet(*packet, now);
    place_.network.give(packet);
    turn(now);
}

void Host::paused(std::uint16_t, bool paused, Nanos now) {
    paused_ = paused;
    turn(now);
}

void Host::act(std::uint32_t what, Nanos now) {
    if (what == kTimer) timer_.rang();
    agenda_.act(what, now);
    turn(now);
}

void Host::turn(Nanos now) {
    if (transport_->deadline() <= now) transport_->timer(now);
    do {
        while (collect(now)) {
        }
        send(now);
    } while (collect(now));
    agenda_.end_turn(now);
    // What is due now waits for the NIC, whose event is a turn.
    if (const Nanos deadline = transport_->deadline();
        deadline != kNever && (deadline > now || nic_free_at_ <= now))
        timer_.set(std::max(deadline, now + 1));
}

bool Host::collect(Nanos now) {
    if (completions_.empty()) return false;
    const Completion completion = completions_.pop();
    if (completion.name.comm == kFlowComm) {
        place_.flows.completed(completion, now);
        return true;
    }
    if (completion.kind == CompletionKind::recv) place_.messages.arrived(completion.name, rank_, now);
    agenda_.take(completion, now);
    return true;
}

void Host::send(Nanos now) {
    while (nic_free_at_ <= now) {
        plain::Packet* packet = place_.network.packet();
        if (!transport_->next(*packet, !paused_, now)) return place_.network.give(packet);
        packet->src = rank_;
        packet->sent = now;
        nic_free_at_ = now + attached_.up.sending_time(packet->bytes);
        attached_.up.carry(packet, nic_free_at_);
        if (nic_free_at_ > now) place_.engine.at(nic_free_at_, *this, kNicFree);
    }
}

}  // namespace csaud::sim::baselines
