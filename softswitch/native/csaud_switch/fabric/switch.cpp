#include "csaud_switch/fabric/switch.hpp"

#include <algorithm>
#include <bit>

#include "csaud_switch/base/error.hpp"
#include "csaud_switch/program/packet_fields.hpp"

namespace csaud::sw {

namespace {

// instance_type of v1model
constexpr std::uint32_t kNormal = 0;
constexpr std::uint32_t kRecirculated = 4;
constexpr std::uint32_t kReplication = 5;
constexpr std::uint32_t kResubmitted = 6;

}  // namespace

Switch::Switch(SwitchConfig config, Wire& wire, Nanos start)
    : config_(std::move(config)), wire_(&wire), start_(start), random_(config_.seed) {
    if (config_.priority_queues < 1 || config_.priority_queues > kMaxPriorities)
        throw InvalidArgument("switch '" + config_.name + "': " + std::to_string(config_.priority_queues) +
                              " priority queues, expected 1 to " + std::to_string(kMaxPriorities));
}

Switch::~Switch() {
    for (const auto& port : ports_)
        if (port) flush(*port);
}

void Switch::install(std::unique_ptr<Program> program) {
    to_control_.forget_digests();
    // What is queued carries fields of the old program, which mean nothing to the new one.
    for (const auto& port : ports_)
        if (port) flush(*port);
    interpreter_.reset();
    program_ = std::move(program);
    interpreter_.emplace(*program_, config_.drop_port, random_, config_.machine_code);
}

Program& Switch::program() const {
    if (!program_) throw FailedPrecondition("switch '" + config_.name + "' has no program yet");
    return *program_;
}

std::vector<std::string> Switch::take_log() {
    return interpreter_ ? interpreter_->take_log() : std::vector<std::string>{};
}

Port& Switch::add_port(PortId id) {
    if (find_port(id) != nullptr)
        throw AlreadyExists("switch '" + config_.name + "' already has a port " + std::to_string(id));
    if (id == config_.cpu_port || id == config_.drop_port || id > 0xFFFF)
        throw InvalidArgument("switch '" + config_.name + "': " + std::to_string(id) +
                              " cannot be the number of a port");
    if (id >= ports_.size()) ports_.resize(id + 1);
    ports_[id] = std::make_unique<Port>();
    ports_[id]->id = id;
    ports_[id]->up = false;  // set_port_up tells the selectors
    return *ports_[id];
}

void Switch::remove_port(Port& port) {
    flush(port);
    set_port_up(port, false);
    port.removed = true;
    removed_ports_.push_back(std::move(ports_[port.id]));
}

Port& Switch::port(PortId id) const {
    Port* found = find_port(id);
    if (found == nullptr) throw NotFound("switch '" + config_.name + "' has no port " + std::to_string(id));
    return *found;
}

std::vector<Port*> Switch::ports() const {
    std::vector<Port*> all;
    for (const auto& port : ports_)
        if (port) all.push_back(port.get());
    return all;
}

void Switch::set_port_up(Port& port, bool up) {
    if (port.up == up) return;
    port.up = up;
    if (!program_) return;
    for (const auto& profile : program_->profiles)
        profile->port_changed(port.id, [this](PortId id) { return port_is_up(id); });
}

void Switch::flush(Port& port) {
    for (PacketQueue& queue : port.queues) {
        while (queue.count > 0) {
            wire_->pool().give(queue.pop());
            ++figures_.flushed;
        }
    }
    port.waiting = 0;
    port.queued = 0;
}

std::uint64_t Switch::queued() const {
    std::uint64_t all = 0;
    for (const auto& port : ports_)
        if (port) all += port->queued;
    return all;
}

void Switch::receive(Packet* packet, PortId port, Nanos now) {
    ++figures_.rx;
    if (Port* from = find_port(port)) {
        ++from->figures.rx_packets;
        from->figures.rx_bytes += packet->length;
    }
    packet->reset(port);
    if (!interpreter_) {
        stop(packet, figures_.dropped_ingress);
        return;
    }
    interpreter_->begin(*packet);
    set_field(*packet, program_->logic->target.ingress_port, port);
    set_field(*packet, program_->logic->target.packet_length, packet->length);
    set_field(*packet, program_->logic->target.ingress_timestamp, microseconds(now));
    busy_ = true;
    ingress(packet, now);
    run_again(now);
}

// The packet's metadata are set; its start is that of the frame.
void Switch::ingress(Packet* packet, Nanos now) {
    const TargetFields& target = program_->logic->target;
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
        resubmit(packet, frame_start);
        return;
    }
    if (const auto group = static_cast<std::uint32_t>(get_field(*packet, target.mcast_grp)); group != 0) {
        const auto found = multicast_groups.find(group);
        if (found == multicast_groups.end() || found->second.empty()) {
            ++figures_.dropped_ingress;
        } else {
            figures_.copies += found->second.size() - 1;
            replicate(packet, found->second, kReplication, 0, now);
        }
        wire_->pool().give(packet);
        return;
    }
    const auto to = static_cast<PortId>(get_field(*packet, target.egress_spec));
    if (to == config_.drop_port) {
        drop(packet, figures_.dropped_ingress, now);
        return;
    }
    set_field(*packet, target.instance_type, kNormal);
    enqueue(packet, to, now);
}

void Switch::run_again(Nanos now) {
    busy_ = true;
    while (again_.count > 0) ingress(again_.pop(), now);
    busy_ = false;
}

// As if it had just arrived, but for the fields of a list.
void Switch::restart(Packet* packet, std::uint32_t fields, std::uint32_t instance_type,
                     std::uint32_t ingress_length) {
    const std::uint32_t passes = packet->passes + 1;
    if (passes >= kMaxPasses || again_.count >= kMaxAgain) {
        stop(packet, figures_.looped);
        return;
    }
    const std::vector<FieldRef>& list = program_->logic->field_lists[fields].fields;
    preserved_.clear();
    for (const FieldRef& field : list)
        for (std::uint32_t word = 0; word < words_for(field.width); ++word)
            preserved_.push_back(packet->slots[field.slot + word]);
    packet->reset(packet->ingress_port);
    packet->passes = passes;
    packet->ingress_length = ingress_length;
    interpreter_->begin(*packet);
    std::size_t at = 0;
    for (const FieldRef& field : list)
        for (std::uint32_t word = 0; word < words_for(field.width); ++word)
            packet->slots[field.slot + word] = preserved_[at++];
    set_field(*packet, program_->logic->target.instance_type, instance_type);
    set_field(*packet, program_->logic->target.packet_length, packet->length);
    again_.push(packet);
}

void Switch::resubmit(Packet* packet, std::uint32_t frame_start) {
    ++figures_.resubmitted;
    packet->length += packet->start - frame_start;
    packet->start = frame_start;
    restart(packet, packet->resubmit - 1, kResubmitted, packet->ingress_length);
}

void Switch::recirculate(Packet* packet) {
    ++figures_.recirculated;
    restart(packet, packet->recirculate - 1, kRecirculated, packet->length);
}

void Switch::learn(const Packet& packet, Nanos now) {
    const std::uint32_t index = packet.digest - 1;
    const Digest& digest = program_->digests[index];
    if (!digest.enabled) return;
    if (!to_control_.add(digest, index, packet, now)) {
        ++figures_.digest_overflow;
        return;
    }
    ++figures_.digests;
    wire_->packet_in(*this);
}

void Switch::enqueue(Packet* packet, PortId to, Nanos now) {
    const TargetFields& target = program_->logic->target;
    const std::uint64_t priority = get_field(*packet, target.priority);
    packet->egress_port = to;
    if (priority >= config_.priority_queues) {
        ++figures_.bad_priority;
        wire_->pool().give(packet);
        return;
    }
    packet->priority = static_cast<std::uint8_t>(priority);
    packet->enqueued_us = microseconds(now);
    Port* port = find_port(to);
    if (target.queueing) {
        set_field(*packet, target.enq_timestamp, packet->enqueued_us);
        set_field(*packet, target.enq_qdepth, port == nullptr ? 0 : port->queues[priority].count);
    }
    if (port == nullptr) {
        // Egress runs for any port, as on the reference; only then it turns out that nothing is there.
        packet = egress(packet, 0, now);
        if (packet == nullptr) return;
        if (to == config_.cpu_port) {
            deliver(packet);
            return;
        }
        ++figures_.no_such_port;
        wire_->pool().give(packet);
        return;
    }
    PacketQueue& queue = port->queues[priority];
    if (queue.count >= port->buffer) {
        ++port->figures.queue_full;
        drop(packet, figures_.queue_full, now);
        return;
    }
    packet->enqueued_at = now;
    queue.push(packet);
    port->waiting |= std::uint64_t{1} << priority;
    ++port->queued;
    port->figures.queued_max = std::max<std::uint64_t>(port->figures.queued_max, port->queued);
    if (!port->wake_scheduled && !port->serving) serve(*port, now);
}

void Switch::serve(Port& port, Nanos now) {
    port.serving = true;  // a clone may be queued for this port by its own egress
    while (port.waiting != 0) {
        if (port.free_at > now) {
            if (!port.wake_scheduled) {
                port.wake_scheduled = true;
                wire_->wake(*this, port, port.free_at);
            }
            break;
        }
        const auto priority = static_cast<std::uint32_t>(63 - std::countl_zero(port.waiting));
        PacketQueue& queue = port.queues[priority];
        Packet* packet = queue.pop();
        --port.queued;
        if (queue.count == 0) port.waiting &= ~(std::uint64_t{1} << priority);
        // A wake-up that came late does not cost the port any of its rate.
        const Nanos begin = std::max(port.free_at, packet->enqueued_at);
        if (!packet->finished) packet = egress(packet, queue.count, now);
        if (packet == nullptr) continue;
        port.free_at = begin + port.transmission_time(packet->visible_length());
        wire_->transmit(*this, port, packet, port.free_at);
    }
    port.serving = false;
    if (!busy_ && again_.count > 0) run_again(now);
}

Packet* Switch::egress(Packet* packet, std::uint32_t depth, Nanos now) {
    const TargetFields& target = program_->logic->target;
    interpreter_->set_time(now, microseconds(now));
    set_field(*packet, target.egress_timestamp, microseconds(now));
    if (target.queueing) {
        set_field(*packet, target.deq_timedelta, microseconds(now) - packet->enqueued_us);
        set_field(*packet, target.deq_qdepth, depth);
        set_field(*packet, target.qid, packet->priority);
    }
    set_field(*packet, target.egress_port, packet->egress_port);
    set_field(*packet, target.egress_spec, config_.drop_port + 1);  // anything but the drop port
    set_field(*packet, target.packet_length, packet->program_length);
    interpreter_->egress(*packet);
    if (packet->clone_request != 0) {
        clone_egress(*packet, now);
        packet->clone_request = 0;
    }
    if (packet->asserted) ++figures_.assertions;
    if (packet->asserted || get_field(*packet, target.egress_spec) == config_.drop_port) {
        drop(packet, figures_.dropped_egress, now);
        return nullptr;
    }
    interpreter_->deparse(*packet);
    if (packet->recirculate != 0) {
        recirculate(packet);
        return nullptr;
    }
    return packet;
}

void Switch::deliver(Packet* packet) {
    if (to_control_.add(*packet)) {
        ++figures_.packet_in;
        wire_->packet_in(*this);
    } else {
        ++figures_.packet_in_overflow;
    }
    wire_->pool().give(packet);
}

}  // namespace csaud::sw
