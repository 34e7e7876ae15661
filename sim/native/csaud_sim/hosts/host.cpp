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
      uplink_(place.network.attach(*this, at, port, nic.delay)),
      nic_rate_bps_(nic.rate_bps) {
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
        const auto bytes = place_.frames.read(*packet);
        const std::uint64_t before = endpoint_.stats().rx_duplicates;
        if (!bytes.empty()) endpoint_.on_packet(bytes, clock_.local(now));
        if (place_.ledger != nullptr)
            note_arrival(packet->frame(), endpoint_.stats().rx_duplicates != before, now);
    }
    place_.network.give(packet);
    turn(now);
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

Nanos Host::sending_time(std::uint32_t bytes) const {
    if (nic_rate_bps_ == 0) return 0;
    const std::uint64_t bits = (std::uint64_t{bytes} + place_.network.model().overhead_bytes) * 8;
    return static_cast<Nanos>((bits * kSecond + nic_rate_bps_ - 1) / nic_rate_bps_);
}

void Host::send(Nanos now, Nanos local) {
    while (nic_free_at_ <= now && endpoint_.next_tx(packet_, local)) {
        const std::uint32_t bytes = Frames::bytes(packet_);
        sw::Packet* frame = place_.network.packet(bytes);
        place_.frames.write(packet_, *frame);
        if (place_.ledger != nullptr) place_.ledger->copies.sent(frame->frame());
        nic_free_at_ = now + sending_time(bytes);
        uplink_.carry(frame, nic_free_at_);
        if (nic_free_at_ > now) place_.engine.at(nic_free_at_, *this, kNicFree);
    }
}

// A deadline that moves later leaves the timer as it is: it comes early once, and is set anew then.
void Host::arm(Nanos now) {
    const Nanos deadline = endpoint_.next_deadline();
    if (deadline == kNever) return;
    Nanos due = clock_.time(deadline);
    if (due <= now) due = nic_free_at_ > now ? nic_free_at_ : now + kAgain;
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
