#include "csaud_sim/plain/link.hpp"

namespace csaud::sim::plain {

void Link::carry(Packet* packet, Nanos end) {
    note(TraceKind::sent, *packet, end);
    packet->due = end + delay_ + after_;
    flying_.push(packet);
    if (flying_.count() == 1) around_.engine.at(packet->due, *this, kArrive);
}

void Link::act(std::uint32_t what, Nanos now) {
    if (what != kArrive) return to_.node->paused(to_.port, what == kPause, now);
    Packet* packet = flying_.pop();
    // Before anything that the packet brings about, whatever comes at the same time.
    if (flying_.head() != nullptr) around_.engine.at(flying_.head()->due, *this, kArrive);
    note(TraceKind::arrived, *packet, now);
    to_.node->arrive(packet, to_.port, now);
}

}  // namespace csaud::sim::plain
