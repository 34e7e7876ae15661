#include "csaud_sim/hosts/host.hpp"

#include <algorithm>
#include <utility>

namespace csaud::sim {

Host::Host(const Place& place, const EndpointConfig& config, const Clock& clock, sw::Switch& at,
           sw::PortId port, const Nic& nic)
    : place_(place),
      endpoint_(config),
      port_(endpoint_, place.engine, place.ledger == nullptr ? nullptr : &place.ledger->messages),
      executor_(config.rank, config.epoch),
      clock_(clock),
      uplink_(place.network, place.network.attach(*this, at, port, nic.delay), nic.rate_bps) {
    if (place_.ledger != nullptr) place_.ledger->copies.add(config.local.ipv4);
}

void Host::start(collectives::Execution& execution, Nanos at) {
    starts_.emplace(at, &execution);
    report();
    place_.engine.at(at, *this, kStart);
}

void Host::follow(collectives::Execution& execution, Nanos delay) {
    followers_.push_back({&execution, delay});
    report();
    turn(place_.engine.now());
}

void Host::start_due(Nanos now) {
    while (!starts_.empty() && starts_.begin()->first <= now) {
        collectives::Execution& execution = *starts_.begin()->second;
        starts_.erase(starts_.begin());
        start_now(execution, now);
    }
}

void Host::start_now(collectives::Execution& execution, Nanos now) {
    executor_.start(execution, port_, clock_.local(now));
}

void Host::kill() {
    alive_ = false;
    place_.engine.cancel(std::exchange(timer_, kNoEvent));
    report();
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
    if (what == kTimer) {
        timer_ = kNoEvent;
        armed_for_ = kNever;
    }
    if (!alive_) return;
    if (what == kNicFree) endpoint_.sent(clock_.local(now));
    if (what == kStart) start_due(now);
    if (what == kFollow) {
        const Follower next = followers_.front();
        followers_.pop_front();
        follower_armed_ = false;
        start_now(*next.execution, now);
    }
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
    if (!followers_.empty() && !follower_armed_ && executor_.running() == 0 && starts_.empty()) {
        follower_armed_ = true;
        place_.engine.at(now + followers_.front().delay, *this, kFollow);
    }
    arm(now);
    report();
}

// Reductions take no time.
bool Host::collect(Nanos now, Nanos local) {
    Completion completion;
    if (!endpoint_.next_completion(completion)) return false;
    if (completion.name.comm == kFlowComm) {
        place_.flows.completed(completion, now);
        return true;
    }
    if (place_.ledger != nullptr && completion.kind == CompletionKind::recv)
        place_.ledger->messages.arrived(completion.name, endpoint_.config().rank, now);
    executor_.on_completion(completion, port_, local);
    while (const auto piece = executor_.next_piece()) {
        piece->work();
        executor_.on_piece(port_, local);
    }
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
    const Nanos due = bursts_.due();
    if (due == Bursts::kNever || due <= now || bursts_armed_ > now) return;
    bursts_armed_ = due;
    place_.engine.at(due, *this, kBursts);
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

// A deadline that moves later leaves the timer as it is: it comes early once, and is set anew then.
void Host::arm(Nanos now) {
    const Nanos deadline = endpoint_.next_deadline();
    if (deadline == kNever) return;
    Nanos due = clock_.time(deadline);
    if (due <= now) due = !uplink_.free(now) ? uplink_.free_at() : now + kAgain;
    if (armed_for_ <= due) return;
    if (timer_ != kNoEvent) place_.engine.cancel(timer_);
    armed_for_ = due;
    timer_ = place_.engine.at(due, *this, kTimer);
}

void Host::report() {
    const std::size_t open =
        alive_ ? executor_.running() + starts_.size() + followers_.size() : std::size_t{0};
    if (!failed_ && executor_.failure()) {
        failed_ = true;
        place_.open_work.failed();
    }
    const std::size_t before = std::exchange(reported_, open);
    if (open > before) place_.open_work.begin(open - before);
    if (open < before) place_.open_work.end(before - open);
}

}  // namespace csaud::sim
