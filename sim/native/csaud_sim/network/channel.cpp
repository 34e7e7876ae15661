#include "csaud_sim/network/channel.hpp"

#include <algorithm>
#include <functional>

namespace csaud::sim {

void Channel::impair(const Impairment& how) {
    impaired_.emplace_back(how);
    jitter_ = jitter_ || how.jitter > 0;
}

void Channel::count(const sw::Packet& packet, Nanos end) {
    const Nanos took = port_.transmission_time(packet.length);
    ++figures_.frames;
    figures_.bytes += packet.length;
    figures_.busy += took;
    if (kind_of(packet.frame()) != FrameKind::data) return;
    ++figures_.data;
    figures_.waits.add(static_cast<std::uint64_t>(std::max<Nanos>(end - took - packet.enqueued_at, 0)));
}

void Channel::carry(sw::Packet* packet, Nanos end) {
    note(TraceKind::sent, *packet, end);
    // Whoever shortens a link does not turn packets round on it.
    const Nanos soonest = end + port_.delay + (to_ != nullptr ? around_.model.pipeline : 0);
    packet->epoch = port_.epoch;
    around_.pool.workspaces().take_from(*packet);
    if (jitter_) return scatter(packet, soonest);
    const Nanos there = std::max(last_, soonest);
    last_ = there;
    packet->enqueued_at = there;
    flying_.push(packet);
    if (flying_.count == 1) around_.engine.at(there, *this, kArrive);
}

void Channel::scatter(sw::Packet* packet, Nanos there) {
    for (ImpairedLink& impaired : impaired_) there += impaired.extra();
    packet->enqueued_at = there;
    scattered_.push_back({packet, order_++});
    std::ranges::push_heap(scattered_, std::greater{});
    around_.engine.at(there, *this, kArrive);
}

// The packet that arrives now.
sw::Packet* Channel::next() {
    if (jitter_) {
        std::ranges::pop_heap(scattered_, std::greater{});
        sw::Packet* packet = scattered_.back().packet;
        scattered_.pop_back();
        return packet;
    }
    sw::Packet* packet = flying_.pop();
    // Before anything that the packet brings about, whatever comes at the same time.
    if (flying_.head != nullptr) around_.engine.at(flying_.head->enqueued_at, *this, kArrive);
    return packet;
}

bool Channel::spoils(const sw::Packet& packet) {
    bool spoiled = false;
    for (ImpairedLink& impaired : impaired_) spoiled = impaired.loses(packet.frame()) || spoiled;
    return spoiled;
}

// As whoever is there would find by its FCS.
void Channel::spoil(sw::Packet* packet, Nanos now) {
    note(TraceKind::lost, *packet, now);
    if (kind_of(packet->frame()) == FrameKind::data) ++around_.data_lost;
    if (to_port_ != nullptr) ++to_port_->figures.rx_errors;
    if (around_.watch != nullptr) around_.watch->lost(packet->frame(), now);
    around_.pool.give(packet);
}

void Channel::act(std::uint32_t what, Nanos now) {
    if (what == kArrive) return arrive(now);
    port_.wake_scheduled = false;
    if (!port_.removed) from_->serve(port_, now);
}

void Channel::arrive(Nanos now) {
    sw::Packet* packet = next();
    if (packet->epoch != port_.epoch || port_.removed) return lose(packet, now);
    if (!impaired_.empty() && spoils(*packet)) return spoil(packet, now);
    note(TraceKind::arrived, *packet, now);
    if (to_ != nullptr) {
        if (from_ == nullptr && !port_.up) {
            ++port_.figures.rx_errors;
            around_.pool.give(packet);
            return;
        }
        ++around_.hops;
        if (!to_port_->taps.empty()) to_port_->tell(packet->frame(), true, now);
        to_->receive(packet, to_port_->id, now);
    } else if (station_ != nullptr) {
        station_->frame(packet, now);
    } else {
        around_.pool.give(packet);
    }
}

void Channel::lose(sw::Packet* packet, Nanos now) {
    note(TraceKind::lost, *packet, now);
    if (kind_of(packet->frame()) == FrameKind::data) ++around_.data_lost;
    if (around_.watch != nullptr) around_.watch->lost(packet->frame(), now);
    if (from_ != nullptr) {
        from_->uncount_sent(port_, packet->length);
        from_->count_lost(port_);
    }
    around_.pool.give(packet);
}

void Channel::drain() {
    while (flying_.count > 0) around_.pool.give(flying_.pop());
    for (const Scattered& each : scattered_) around_.pool.give(each.packet);
    scattered_.clear();
}

}  // namespace csaud::sim
