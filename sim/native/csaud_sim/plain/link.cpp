#include "csaud_sim/plain/link.hpp"

namespace csaud::sim::plain {

void Link::set_up(bool up) {
    up_ = up;
    if (!up) doomed_ = flying_.count();
}

void Link::lose(Packet* packet, Nanos time) {
    note(TraceKind::lost, *packet, time);
    if (packet->kind == Kind::data) ++around_.data_lost;
    around_.pool.give(packet);
}

void Link::carry(Packet* packet, Nanos end) {
    if (!up_) return lose(packet, end);
    note(TraceKind::sent, *packet, end);
    packet->due = end + delay_ + after_;
    flying_.push(packet);
    if (flying_.count() == 1) around_.engine.at(packet->due, *this, kArrive);
}

void Link::act(std::uint32_t what, Nanos now) {
    if (what != kArrive) {
        if (up_) to_.node->paused(to_.port, what == kPause, now);
        return;
    }
    Packet* packet = flying_.pop();
    // Before anything that the packet brings about, whatever comes at the same time.
    if (flying_.head() != nullptr) around_.engine.at(flying_.head()->due, *this, kArrive);
    if (doomed_ > 0) {
        --doomed_;
        return lose(packet, now);
    }
    note(TraceKind::arrived, *packet, now);
    to_.node->arrive(packet, to_.port, now);
}

}  // namespace csaud::sim::plain
