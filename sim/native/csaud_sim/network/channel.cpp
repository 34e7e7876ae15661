#include "csaud_sim/network/channel.hpp"

#include <algorithm>

namespace csaud::sim {

void Channel::carry(sw::Packet* packet, Nanos end) {
    note(TraceKind::sent, *packet, end);
    // Whoever shortens a link does not turn packets round on it.
    const Nanos there = std::max(last_, end + port_.delay + (to_ != nullptr ? around_.model.pipeline : 0));
    last_ = there;
    packet->enqueued_at = there;
    packet->epoch = port_.epoch;
    around_.workspaces.take_from(*packet);
    flying_.push(packet);
    if (flying_.count == 1) around_.engine.at(there, *this, kArrive);
}

void Channel::act(std::uint32_t what, Nanos now) {
    if (what == kArrive) return arrive(now);
    port_.wake_scheduled = false;
    if (!port_.removed) from_->serve(port_, now);
}

void Channel::arrive(Nanos now) {
    sw::Packet* packet = flying_.pop();
    // Before anything that the packet brings about, whatever comes at the same time.
    if (flying_.head != nullptr) around_.engine.at(flying_.head->enqueued_at, *this, kArrive);
    if (packet->epoch != port_.epoch || port_.removed) return lose(packet, now);
    note(TraceKind::arrived, *packet, now);
    if (to_ != nullptr) {
        if (from_ == nullptr && !port_.up) {
            ++port_.figures.rx_errors;
            around_.pool.give(packet);
            return;
        }
        ++around_.hops;
        if (!to_port_->taps.empty()) to_port_->tell(packet->frame(), true, now);
        around_.workspaces.give_to(*packet);
        to_->receive(packet, to_port_->id, now);
    } else if (station_ != nullptr) {
        station_->frame(packet, now);
    } else {
        around_.pool.give(packet);
    }
}

void Channel::lose(sw::Packet* packet, Nanos now) {
    note(TraceKind::lost, *packet, now);
    if (from_ != nullptr) {
        from_->uncount_sent(port_, packet->length);
        from_->count_lost(port_);
    }
    around_.pool.give(packet);
}

void Channel::drain() {
    while (flying_.count > 0) around_.pool.give(flying_.pop());
}

}  // namespace csaud::sim
