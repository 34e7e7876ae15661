#include "csaud_sim/plain/switch.hpp"

#include <algorithm>

#include "csaud_sim/plain/draw.hpp"

namespace csaud::sim::plain {

namespace {

// Two rounds with different seeds, so that flows which differ in one part are spread over all of the range.
std::uint32_t flow_hash(const Packet& packet, std::uint32_t seed) {
    return draw(draw(seed, packet.entropy), std::uint32_t{packet.src} << 16 | packet.dst);
}

void count(const Packet& packet, Nanos took, Nanos now, LinkFigures& figures) {
    ++figures.frames;
    figures.bytes += packet.bytes;
    figures.busy += took;
    if (packet.kind != Kind::data) return;
    ++figures.data;
    figures.waits.add(static_cast<std::uint64_t>(now - packet.due));
}

}  // namespace

Port& Switch::add_port() {
    ports_.push_back(std::make_unique<Port>());
    ports_.back()->id = static_cast<std::uint16_t>(ports_.size() - 1);
    return *ports_.back();
}

void Switch::arrive(Packet* packet, std::uint16_t in, Nanos now) {
    ++around_.hops;
    ++figures_.hops;
    packet->in = in;
    Port* out = route(*packet, now);
    if (out == nullptr) {
        ++figures_.no_path[static_cast<std::size_t>(packet->kind)];
        around_.pool.give(packet);
        return;
    }
    if (!admit(packet, *out)) return;
    if (!model_.mark_leaving && packet->listens && !packet->marked) mark(*packet, *out);
    packet->due = now;
    const auto priority = packet->kind == Kind::data      ? Port::kData
                          : packet->kind == Kind::control ? Port::kControl
                                                          : Port::kCut;
    if (priority == Port::kData && model_.pfc) hold(*packet, now);
    out->queues[priority].push(packet);
    figures_.most_queued = std::max(figures_.most_queued, out->bytes());
    if (!out->wake_scheduled) serve(*out, now);
}

Port* Switch::route(const Packet& packet, Nanos now) {
    const Attachments::Place& place = hosts_.hosts[packet.dst];
    if (place.at == number_) return ports_[place.port].get();
    const auto choices = routes_.to(place.at);
    if (choices.empty()) return nullptr;
    const std::uint32_t value = choices.size() == 1 ? 0 : choose(packet, now);
    Port* chosen = ports_[choices[value % choices.size()]].get();
    return model_.failover && !chosen->out->up() ? another(choices, value) : chosen;
}

// Who goes by ports that are up stays there.
Port* Switch::another(std::span<const std::uint16_t> choices, std::uint32_t value) const {
    const auto up = [this](std::uint16_t port) { return ports_[port]->out->up(); };
    const auto live = static_cast<std::uint32_t>(std::ranges::count_if(choices, up));
    if (live == 0) return nullptr;
    auto left = value / static_cast<std::uint32_t>(choices.size()) % live;
    const auto found =
        std::ranges::find_if(choices, [&](std::uint16_t port) { return up(port) && left-- == 0; });
    return ports_[*found].get();
}

std::uint32_t Switch::choose(const Packet& packet, Nanos now) {
    if (model_.spray == Spray::ecmp) return flow_hash(packet, seed_) >> 16;
    if (model_.spray == Spray::random) return draw(seed_, sprayed_++) >> 16;
    if (flowlets_.empty()) flowlets_.resize(kFlowlets);
    Flowlet& flowlet = flowlets_[flow_hash(packet, ~seed_) % kFlowlets];
    if (flowlet.last < 0 || now - flowlet.last > model_.flowlet_gap)
        flowlet.choice = draw(seed_, sprayed_++) >> 16;
    flowlet.last = now;
    return flowlet.choice;
}

bool Switch::has_room(const Packet& packet, const Port& port) const {
    if (packet.kind == Kind::data && model_.pfc) return held_ + packet.bytes <= model_.buffer_bytes;
    const Queue& lossless = port.queues[Port::kData];  // takes no room of others
    const std::uint64_t waiting = model_.in_bytes ? port.bytes() - (model_.pfc ? lossless.bytes() : 0)
                                                  : port.count() - (model_.pfc ? lossless.count() : 0);
    return waiting < (packet.kind == Kind::data ? port.room.data : port.room.control) &&
           waiting < port.room.control;
}

bool Switch::admit(Packet*& packet, Port& port) {
    const auto kind = static_cast<std::size_t>(packet->kind);
    bool lost = false;
    if (const Fault& fault = port.faults[kind]; fault.threshold != 0) {
        lost = draw(fault.seed, port.exposed++) < fault.threshold;
        if (lost && !fault.signalled) {
            ++figures_.injected[kind];
            around_.pool.give(packet);
            return false;
        }
    }
    if (!lost && has_room(*packet, port)) return true;
    if (packet->kind == Kind::data && model_.trim) {
        packet->cut_to(model_.cut_bytes);
        packet->cut_last = hosts_.hosts[packet->dst].at == number_;
        if (has_room(*packet, port)) {
            ++figures_.cut;
            return true;
        }
    }
    ++figures_.dropped[kind];
    around_.pool.give(packet);
    return false;
}

// Linear between the bounds: a draw of 16 bits against how far the queue is.
void Switch::mark(Packet& packet, Port& port) {
    const Room& room = port.room;
    const std::uint64_t waiting = model_.in_bytes ? port.bytes() : port.count();
    if (room.low == UINT64_MAX) return;
    const std::uint32_t value = draw(room.mark_seed, port.markable++) >> 16;
    const double above = waiting > room.low ? static_cast<double>(waiting - room.low) : 0.0;
    packet.marked =
        waiting >= room.high || static_cast<double>(value) * static_cast<double>(room.high - room.low) <
                                    above * 65536.0 * room.highest;
    if (packet.marked && packet.kind == Kind::data) ++figures_.marked;
}

void Switch::act(std::uint32_t id, Nanos now) {
    Port& port = *ports_[id];
    port.wake_scheduled = false;
    serve(port, now);
}

void Switch::serve(Port& port, Nanos now) {
    while (true) {
        Queue* queue = nullptr;
        for (std::size_t i = Port::kPriorities; i-- > 0 && queue == nullptr;)
            if (port.queues[i].count() > 0 && !(i == Port::kData && port.paused)) queue = &port.queues[i];
        if (queue == nullptr) return;
        if (port.free_at > now) {
            if (!port.wake_scheduled) {
                port.wake_scheduled = true;
                around_.engine.at(port.free_at, *this, port.id);
            }
            return;
        }
        Packet* packet = queue->pop();
        if (model_.mark_leaving && packet->listens && !packet->marked) mark(*packet, port);
        const Nanos took = port.out->sending_time(packet->bytes);
        port.free_at = now + took;
        count(*packet, took, now, port.figures);
        if (packet->kind == Kind::data && model_.pfc) release(*packet, now);
        port.out->carry(packet, port.free_at);
    }
}

void Switch::paused(std::uint16_t id, bool paused, Nanos now) {
    Port& port = *ports_[id];
    port.paused = paused;
    if (!paused && !port.wake_scheduled) serve(port, now);
}

void Switch::set_up(std::uint16_t id, bool up, Nanos now) {
    Port& port = *ports_[id];
    port.out->set_up(up);
    if (!up) paused(id, false, now);
    if (up && port.pausing) port.out->tell_paused(true, std::max(now, port.free_at));
}

// Dynamic: the more is free, the more a port may have (as on switches with shared buffers).
std::uint64_t Switch::pause_threshold() const {
    const std::uint64_t taken = headroom_ + held_;
    if (taken >= model_.buffer_bytes) return 0;
    return static_cast<std::uint64_t>(static_cast<double>(model_.buffer_bytes - taken) * model_.pause_share);
}

void Switch::hold(const Packet& packet, Nanos now) {
    Port& port = *ports_[packet.in];
    port.held += packet.bytes;
    held_ += packet.bytes;
    figures_.most_held = std::max(figures_.most_held, held_);
    if (!port.pausing && port.held > pause_threshold()) pause(port, true, now);
}

void Switch::release(const Packet& packet, Nanos now) {
    Port& port = *ports_[packet.in];
    port.held -= packet.bytes;
    held_ -= packet.bytes;
    if (port.pausing && (port.held == 0 || port.held + model_.resume_bytes <= pause_threshold()))
        pause(port, false, now);
}

// The frame that says so waits for the one that is being sent, and takes no time of others'.
void Switch::pause(Port& port, bool paused, Nanos now) {
    port.pausing = paused;
    if (paused) ++figures_.pauses;
    port.out->tell_paused(paused, std::max(now, port.free_at));
}

}  // namespace csaud::sim::plain
