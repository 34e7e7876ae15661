#include "csaud_switch/fabric/fabric.hpp"

#include <algorithm>
#include <cstring>

#include "csaud_switch/base/error.hpp"

namespace csaud::sw {

namespace {

// One stream of random numbers a switch, whatever the order in which switches are added.
std::uint64_t mix_seed(std::uint64_t seed, std::uint64_t device_id) {
    std::uint64_t z = seed * 0x9E3779B97F4A7C15ULL + device_id + 0x632BE59BD9B4E019ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

}  // namespace

Fabric::~Fabric() {
    for (const Event& event : events_)
        if (event.packet != nullptr) pool_.give(event.packet);
    for (const Event& event : ready_) pool_.give(event.packet);
    switches_.clear();
}

Switch& Fabric::add_switch(SwitchConfig config, bool own_seed) {
    for (const auto& other : switches_) {
        if (other->config().name == config.name)
            throw AlreadyExists("switch '" + config.name + "' already exists");
        if (other->config().device_id == config.device_id)
            throw AlreadyExists("device id " + std::to_string(config.device_id) + " is that of switch '" +
                                other->config().name + "'");
    }
    if (!own_seed) config.seed = mix_seed(seed_, config.device_id);
    switches_.push_back(std::make_unique<Switch>(std::move(config), *carrier_, now_));
    return *switches_.back();
}

void Fabric::carried_by(Wire* other) {
    if (!events_.empty() || !ready_.empty()) throw FailedPrecondition("packets of the fabric are under way");
    if (other != nullptr && carrier_ != this)
        throw FailedPrecondition("the fabric's packets are carried by something else already");
    carrier_ = other != nullptr ? other : this;
    for (const auto& found : switches_) found->set_wire(*carrier_);
}

Switch& Fabric::switch_at(const std::string& name) const {
    for (const auto& found : switches_)
        if (found->config().name == name) return *found;
    throw UnknownName("no switch '" + name + "' in the fabric");
}

void Fabric::apply_config(Port& port, const LinkConfig& config) {
    port.rate_bps = config.rate_bps;
    port.buffer = config.buffer_packets;
    port.delay = config.delay;
}

Port& Fabric::add_memory_port(Switch& at, PortId id, const LinkConfig& config) {
    Port& port = at.add_port(id);
    apply_config(port, config);
    at.set_port_up(port, true);
    return port;
}

Port& Fabric::add_interface_port(Switch& at, PortId id, std::unique_ptr<Interface> interface,
                                 const LinkConfig& config) {
    Port& port = at.add_port(id);
    apply_config(port, config);
    interfaces_.attach(at, port, std::move(interface));
    return port;
}

void Fabric::add_link(Switch& a, PortId a_port, Switch& b, PortId b_port, const LinkConfig& config) {
    if (b.find_port(b_port) != nullptr)
        throw AlreadyExists("switch '" + b.config().name + "' already has a port " + std::to_string(b_port));
    if (config.delay < 0) throw InvalidArgument("a link's delay cannot be negative");
    Port& left = a.add_port(a_port);
    Port& right = b.add_port(b_port);
    for (Port* port : {&left, &right}) {
        apply_config(*port, config);
        port->kind = PortKind::kLink;
    }
    left.peer = &right;
    left.peer_switch = &b;
    right.peer = &left;
    right.peer_switch = &a;
    a.set_port_up(left, true);
    b.set_port_up(right, true);
}

void Fabric::remove_port(Switch& at, PortId id) {
    Port& port = at.port(id);
    if (port.kind == PortKind::kLink) {
        set_link(at, id, false);
        Port* peer = port.peer;
        port.peer_switch->remove_port(*peer);
    }
    if (port.kind == PortKind::kInterface) interfaces_.detach(port, now_);
    at.remove_port(port);
}

void Fabric::set_port_queue(Switch& at, PortId id, const std::uint64_t* rate_bps,
                            const std::uint32_t* buffer) {
    Port& port = at.port(id);
    if (rate_bps != nullptr) port.rate_bps = *rate_bps;
    if (buffer != nullptr) port.buffer = *buffer;
}

void Fabric::set_link(Switch& at, PortId id, bool up) {
    Port& port = at.port(id);
    if (port.kind == PortKind::kInterface)
        throw InvalidArgument("port " + std::to_string(id) + " of switch '" + at.config().name +
                              "' follows its interface '" + port.ifname + "'");
    if (!up && port.up) {
        // What is on the wire now will not arrive.
        ++port.epoch;
        if (port.peer != nullptr) ++port.peer->epoch;
    }
    at.set_port_up(port, up);
    if (port.peer != nullptr) port.peer_switch->set_port_up(*port.peer, up);
}

void Fabric::inject(Switch& at, PortId id, std::span<const std::uint8_t> frame, Nanos now) {
    Port& port = at.port(id);
    if (port.kind != PortKind::kMemory)
        throw InvalidArgument("port " + std::to_string(id) + " of switch '" + at.config().name +
                              "' is no memory port");
    if (frame.size() > kMaxFrame)
        throw InvalidArgument("a frame of " + std::to_string(frame.size()) + " bytes; the longest has " +
                              std::to_string(kMaxFrame));
    advance(now);
    if (!port.up) {
        ++port.figures.rx_errors;
        return;
    }
    Packet* packet = pool_.take(static_cast<std::uint32_t>(frame.size()));
    if (!frame.empty()) std::memcpy(packet->data(), frame.data(), frame.size());
    port.tell(frame, true, now);
    at.receive(packet, id, now);
    drain();
}

std::size_t Fabric::receive(std::size_t interface, Nanos now, std::size_t most) {
    return interfaces_.receive(interface, now, most, [this] { drain(); });
}

void Fabric::packet_out(Switch& at, std::span<const std::uint8_t> bytes) {
    if (bytes.size() > kMaxFrame)
        throw InvalidArgument("a packet-out of " + std::to_string(bytes.size()) + " bytes; the longest has " +
                              std::to_string(kMaxFrame));
    Packet* packet = pool_.take(static_cast<std::uint32_t>(bytes.size()));
    if (!bytes.empty()) std::memcpy(packet->data(), bytes.data(), bytes.size());
    at.receive(packet, at.config().cpu_port, now_);
    drain();
}

void Fabric::push(Event event) {
    event.serial = next_serial_++;
    events_.push_back(event);
    std::push_heap(events_.begin(), events_.end(), std::greater<>{});
}

void Fabric::advance(Nanos now) {
    if (now < now_)
        throw InvalidArgument("time " + std::to_string(now) + " lies before the present, " +
                              std::to_string(now_));
    drain();
    while (!events_.empty() && events_.front().time <= now) {
        std::pop_heap(events_.begin(), events_.end(), std::greater<>{});
        const Event event = events_.back();
        events_.pop_back();
        now_ = std::max(now_, event.time);
        run(event);
        drain();
    }
    now_ = now;
}

void Fabric::begin_real_time(Nanos now) {
    if (now_ == 0)
        for (const auto& found : switches_) found->set_start(now);
    advance(std::max(now, now_));
}

void Fabric::drain() {
    while (!ready_.empty()) {
        const Event event = ready_.front();
        ready_.pop_front();
        run(event);
    }
}

void Fabric::run(const Event& event) {
    if (event.packet != nullptr) {
        arrive(event);
        return;
    }
    event.port->wake_scheduled = false;
    if (!event.port->removed) event.at->serve(*event.port, now_);
}

void Fabric::transmit(Switch& from, Port& port, Packet* packet, Nanos end) {
    if (!port.up) {
        lose(from, port, packet);
        return;
    }
    switch (port.kind) {
        case PortKind::kMemory:
        case PortKind::kLink: {
            packet->length = packet->visible_length();
            from.count_sent(port, packet->length);
            port.tell(packet->frame(), false, end);
            const Event event{end + port.delay, 0, &from, &port, packet, port.epoch};
            if (event.time <= now_) {
                ready_.push_back(event);
            } else {
                push(event);
            }
            return;
        }
        case PortKind::kInterface:
            interfaces_.send(port, packet, now_);
            return;
    }
}

void Fabric::lose(Switch& from, Port& port, Packet* packet) {
    from.count_lost(port);
    pool_.give(packet);
}

void Fabric::wake(Switch& from, Port& port, Nanos at) {
    push({at, 0, &from, &port, nullptr, 0});
}

void Fabric::arrive(const Event& event) {
    Port& from = *event.port;
    if (event.epoch != from.epoch || from.removed) {
        event.at->uncount_sent(from, event.packet->length);
        lose(*event.at, from, event.packet);
    } else if (from.kind == PortKind::kLink) {
        from.peer->tell(event.packet->frame(), true, now_);
        from.peer_switch->receive(event.packet, from.peer->id, now_);
    } else {
        const auto frame = event.packet->frame();
        out_.push_back({event.at, from.id, {frame.begin(), frame.end()}, now_});
        pool_.give(event.packet);
    }
}

void Fabric::packet_in(Switch& from) {
    if (on_packet_in != nullptr) on_packet_in(packet_in_context, from);
}

std::vector<OutFrame> Fabric::take_frames() {
    std::vector<OutFrame> taken;
    taken.swap(out_);
    return taken;
}

}  // namespace csaud::sw
