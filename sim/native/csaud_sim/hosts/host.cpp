#include "csaud_sim/hosts/host.hpp"

namespace csaud::sim {

Host::Host(const Place& place, const EndpointConfig& config, const Clock& clock, sw::Switch& at,
           sw::PortId port, const Nic& nic)
    : place_(place),
      endpoint_(config),
      port_(endpoint_, place.engine, place.ledger == nullptr ? nullptr : &place.ledger->messages),
      agenda_(place.engine, place.open_work, *this, *this, config.rank, config.epoch),
      clock_(clock),
      uplink_(place.network, place.network.attach(*this, at, port, nic.delay), nic.rate_bps),
      timer_(place.engine, *this, kTimer),
      bursts_timer_(place.engine, *this, kBursts) {
    if (place_.ledger != nullptr) place_.ledger->copies.add(config.local.ipv4);
}

void Host::follow(collectives::Execution& execution, Nanos delay) {
    agenda_.follow(execution, delay);
    turn(place_.engine.now());
}

void Host::kill() {
    alive_ = false;
    timer_.cancel();
    bursts_timer_.cancel();
    agenda_.drop();
}

void Host::frame(sw::Packet* packet, Nanos now) {
    if (alive_) {
        const auto bytes =
            is_roce(packet->frame()) ? place_.frames.read(*packet) : std::span<const std::byte>();
        const std::uint64_t before = endpoint_.stats().rx_duplicates;
        if (!bytes.empty()) endpoint_.on_packet(bytes, clock_.local(now));
        if (place_.ledger != nullptr)
            note_arrival(packet->frame(), endpoint_.stats().rx_duplicates != before, now);
    }
    place_.network.give(packet);
    turn(now);
}

// The others are plain UDP, which a device's filter keeps from an endpoint.
bool Host::is_roce(FrameBytes frame) const {
    const auto port = udp_port(frame);
    const EndpointConfig& config = endpoint_.config();
    return port == config.roce_port || port == config.loss_port;
}

void Host::note_arrival(FrameBytes frame, bool again, Nanos now) {
    place_.ledger->copies.arrived(frame, again, now);
    if (frames_++ % kLookEvery == 0) place_.ledger->copies.holds(endpoint_.memory());
}

void Host::take(std::span<const std::byte> packet, Nanos now) {
    if (alive_) endpoint_.on_packet(packet, clock_.local(now));
    turn(now);
}

void Host::act(std::uint32_t what, Nanos now) {
    if (what == kTimer) timer_.rang();
    if (what == kBursts) bursts_timer_.rang();
    if (!alive_) return;
    if (what == kNicFree) endpoint_.sent(clock_.local(now));
    agenda_.act(what, now);
    turn(now);
}

void Host::turn(Nanos now) {
    if (!alive_) return;
    const Nanos local = clock_.local(now);
    if (endpoint_.next_deadline() <= local) endpoint_.on_timer(local);
    do {
        while (collect(now, local)) {
        }
        send(now, local);
    } while (collect(now, local));
    agenda_.end_turn(now);
    arm(now);
}

bool Host::collect(Nanos now, Nanos local) {
    Completion completion;
    if (!endpoint_.next_completion(completion)) return false;
    if (completion.name.comm == kFlowComm) {
        place_.flows.completed(completion, now);
        return true;
    }
    if (place_.ledger != nullptr && completion.kind == CompletionKind::recv)
        place_.ledger->messages.arrived(completion.name, endpoint_.config().rank, now);
    agenda_.take(completion, local);
    return true;
}

void Host::send(Bursts& bursts) {
    bursts_.add(bursts);
    turn(place_.engine.now());
}

void Host::send(Nanos now, Nanos local) {
    while (uplink_.free(now)) {
        sw::Packet* frame = next_frame(now, local);
        if (frame == nullptr) break;
        uplink_.send(frame, now);
        if (!uplink_.free(now)) place_.engine.at(uplink_.free_at(), *this, kNicFree);
    }
    if (const Nanos due = bursts_.due(); due != Bursts::kNever && due > now) bursts_timer_.set(due);
}

sw::Packet* Host::next_frame(Nanos now, Nanos local) {
    bursts_turn_ = !bursts_turn_;
    sw::Packet* frame = bursts_turn_ ? bursts_.next(place_.network, now) : nullptr;
    if (frame == nullptr) frame = own_frame(local);
    return frame != nullptr || bursts_turn_ ? frame : bursts_.next(place_.network, now);
}

sw::Packet* Host::own_frame(Nanos local) {
    if (!endpoint_.next_tx(packet_, local)) return nullptr;
    sw::Packet* frame = place_.network.packet(Frames::bytes(packet_));
    place_.frames.write(packet_, *frame);
    if (place_.ledger != nullptr) place_.ledger->copies.sent(frame->frame());
    return frame;
}

void Host::arm(Nanos now) {
    const Nanos deadline = endpoint_.next_deadline();
    if (deadline == kNever) return;
    const Nanos due = clock_.time(deadline);
    timer_.set(due > now ? due : !uplink_.free(now) ? uplink_.free_at() : now + kAgain);
}

}  // namespace csaud::sim
