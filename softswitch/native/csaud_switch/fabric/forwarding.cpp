#include "csaud_switch/fabric/forwarding.hpp"

#include <algorithm>

#include "csaud_switch/fabric/standard_metadata.hpp"

namespace csaud::sw {

Forwarding::Forwarding(Switch& self, const SwitchConfig& config, const Ports& ports,
                       const Replication& replication, Wire& wire, Nanos start)
    : self_(self),
      config_(config),
      ports_(ports),
      replication_(replication),
      wire_(&wire),
      start_(start),
      random_(config.seed) {}

void Forwarding::run(Program* program) {
    interpreter_.reset();
    if (program != nullptr) interpreter_.emplace(*program, config_.drop_port, random_, config_.machine_code);
}

std::vector<std::string> Forwarding::take_log() {
    return interpreter_ ? interpreter_->take_log() : std::vector<std::string>{};
}

void Forwarding::receive(Packet* packet, PortId port, Nanos now) {
    ++figures_.rx;
    if (Port* from = ports_.find(port)) {
        ++from->figures.rx_packets;
        from->figures.rx_bytes += packet->length;
    }
    packet->reset(port);
    if (!interpreter_) {
        stop(packet, figures_.dropped_ingress);
        return;
    }
    wire_->pool().workspaces().give_to(*packet);
    interpreter_->begin(*packet);
    tell_arrival(*packet, target(), microseconds(now));
    busy_ = true;
    ingress(packet, now);
    run_again(now);
}

// The packet's metadata are set; its start is that of the frame.
void Forwarding::ingress(Packet* packet, Nanos now) {
    // What other switches or passes put before a frame has used up the room for headers.
    if (packet->start < interpreter_->headroom() && !wire_->pool().settle(*packet)) {
        stop(packet, figures_.looped);
        return;
    }
    const std::uint32_t frame_start = packet->start;
    interpreter_->set_time(now, microseconds(now));
    interpreter_->parse(*packet);
    interpreter_->ingress(*packet);
    if (packet->clone_request != 0) {
        clone_ingress(*packet, frame_start, now);
        packet->clone_request = 0;
    }
    if (packet->digest != 0) learn(*packet, now);

    if (packet->asserted) {
        ++figures_.assertions;
        drop(packet, figures_.dropped_ingress, now);
        return;
    }
    if (packet->resubmit != 0) {
        ++figures_.resubmitted;
        if (!passes_.resubmit(packet, frame_start, *interpreter_)) stop(packet, figures_.looped);
        return;
    }
    if (const auto group = static_cast<std::uint32_t>(get_field(*packet, target().mcast_grp)); group != 0) {
        multicast(packet, group, now);
        return;
    }
    const auto to = static_cast<PortId>(get_field(*packet, target().egress_spec));
    if (to == config_.drop_port) {
        drop(packet, figures_.dropped_ingress, now);
        return;
    }
    set_field(*packet, target().instance_type, kNormal);
    enqueue(packet, to, now);
}

void Forwarding::run_again(Nanos now) {
    busy_ = true;
    while (passes_.any()) ingress(passes_.next(), now);
    busy_ = false;
}

void Forwarding::learn(const Packet& packet, Nanos now) {
    const std::uint32_t index = packet.digest - 1;
    const Digest& digest = interpreter_->program().digests[index];
    if (!digest.enabled) return;
    if (!to_control_.add(digest, index, packet, now)) {
        ++figures_.digest_overflow;
        return;
    }
    ++figures_.digests;
    wire_->packet_in(self_);
}

void Forwarding::multicast(Packet* packet, std::uint32_t group, Nanos now) {
    if (const std::vector<Replica>* replicas = replication_.group(group)) {
        figures_.copies += replicas->size() - 1;
        replicate(*packet, *replicas, kReplicated, 0, now);
    } else {
        ++figures_.dropped_ingress;
    }
    wire_->pool().give(packet);
}

void Forwarding::clone_ingress(const Packet& original, std::uint32_t frame_start, Nanos now) {
    const CloneSession* session = replication_.session(original);
    if (session == nullptr) return;
    Packet* clone = Replication::clone_arrived(original, frame_start, *interpreter_, wire_->pool());
    send_clone(clone, *session, original, kIngressClone, now);
}

// The packet as egress left it.
void Forwarding::clone_egress(const Packet& original, Nanos now) {
    const CloneSession* session = replication_.session(original);
    if (session == nullptr) return;
    Packet* clone = wire_->pool().copy(original);
    if (++clone->passes >= Passes::kLimit) {
        // Each clone is cloned again, for ever.
        ++figures_.copies;
        stop(clone, figures_.looped);
        return;
    }
    send_clone(clone, *session, original, kEgressClone, now);
}

void Forwarding::send_clone(Packet* clone, const CloneSession& session, const Packet& original,
                            std::uint32_t instance_type, Nanos now) {
    Replication::preserve(original, *clone, interpreter_->logic());
    figures_.copies += session.replicas.size();
    replicate(*clone, session.replicas, instance_type, session.truncate, now);
    wire_->pool().give(clone);
}

void Forwarding::replicate(const Packet& packet, const std::vector<Replica>& replicas,
                           std::uint32_t instance_type, std::uint32_t truncate, Nanos now) {
    Replication::replicate(packet, replicas, instance_type, truncate, target(), wire_->pool(),
                           [&](Packet* copy, PortId port) { enqueue(copy, port, now); });
}

void Forwarding::enqueue(Packet* packet, PortId to, Nanos now) {
    const std::uint64_t priority = get_field(*packet, target().priority);
    packet->egress_port = to;
    if (priority >= config_.priority_queues) {
        stop(packet, figures_.bad_priority);
        return;
    }
    packet->priority = static_cast<std::uint8_t>(priority);
    packet->enqueued_us = microseconds(now);
    Port* port = ports_.find(to);
    tell_queued(*packet, target(), port == nullptr ? 0 : port->queues[priority].count);
    if (port == nullptr) {
        leave_without_port(packet, to, now);
        return;
    }
    if (!port->has_room(*packet)) {
        ++port->figures.queue_full;
        drop(packet, figures_.queue_full, now);
        return;
    }
    packet->enqueued_at = now;
    const bool busy = port->wake_scheduled || port->serving;
    if (busy || port->free_at > now) interpreter_->keep(*packet, wire_->pool().workspaces());
    port->push(packet);
    if (!busy) serve(*port, now);
}

// Egress runs for any port, as on the reference; only then it turns out that nothing is there.
void Forwarding::leave_without_port(Packet* packet, PortId to, Nanos now) {
    packet = egress(packet, 0, now);
    if (packet == nullptr) return;
    if (to == config_.cpu_port)
        deliver(packet);
    else
        stop(packet, figures_.no_such_port);
}

void Forwarding::serve(Port& port, Nanos now) {
    port.serving = true;  // a clone may be queued for this port by its own egress
    while (port.waiting != 0) {
        if (port.free_at > now) {
            if (!port.wake_scheduled) {
                port.wake_scheduled = true;
                wire_->wake(self_, port, port.free_at);
            }
            break;
        }
        Packet* packet = port.pop();
        // A wake-up that came late does not cost the port any of its rate.
        const Nanos begin = std::max(port.free_at, packet->enqueued_at);
        if (!packet->finished) packet = egress(packet, port.queues[packet->priority].count, now);
        if (packet == nullptr) continue;
        port.free_at = begin + port.transmission_time(packet->visible_length());
        wire_->transmit(self_, port, packet, port.free_at);
    }
    port.serving = false;
    if (!busy_ && passes_.any()) run_again(now);
}

Packet* Forwarding::egress(Packet* packet, std::uint32_t depth, Nanos now) {
    const std::uint64_t now_us = microseconds(now);
    interpreter_->restore(*packet, wire_->pool().workspaces());
    interpreter_->set_time(now, now_us);
    tell_egress(*packet, target(), depth, config_.drop_port + 1, now_us);  // anything but the drop port
    interpreter_->egress(*packet);
    if (packet->clone_request != 0) {
        clone_egress(*packet, now);
        packet->clone_request = 0;
    }
    if (packet->asserted) ++figures_.assertions;
    if (packet->asserted || get_field(*packet, target().egress_spec) == config_.drop_port) {
        drop(packet, figures_.dropped_egress, now);
        return nullptr;
    }
    interpreter_->deparse(*packet);
    if (packet->recirculate != 0) {
        ++figures_.recirculated;
        if (!passes_.recirculate(packet, *interpreter_)) stop(packet, figures_.looped);
        return nullptr;
    }
    return packet;
}

void Forwarding::deliver(Packet* packet) {
    if (to_control_.add(*packet)) {
        ++figures_.packet_in;
        wire_->packet_in(self_);
    } else {
        ++figures_.packet_in_overflow;
    }
    wire_->pool().give(packet);
}

void Forwarding::flush_again() {
    while (passes_.any()) flush(passes_.next());
}

void Forwarding::flush(Port& port) {
    for (PacketQueue& queue : port.queues)
        while (queue.count > 0) flush(queue.pop());
    port.waiting = 0;
    port.queued = 0;
}

}  // namespace csaud::sw
