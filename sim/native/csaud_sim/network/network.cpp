#include "csaud_sim/network/network.hpp"

#include <stdexcept>
#include <string>

namespace csaud::sim {

namespace {

std::string name_of(const sw::Switch& at, sw::PortId port) {
    return "port " + std::to_string(port) + " of switch '" + at.config().name + "'";
}

}  // namespace

Network::Network(sw::Fabric& fabric, Engine& engine, const LinkModel& model)
    : fabric_(fabric), around_{engine, fabric.pool(), model} {
    for (const auto& found : fabric.switches())
        for (const sw::Port* port : found->ports())
            if (port->kind == sw::PortKind::kInterface)
                throw std::invalid_argument(name_of(*found, port->id) + " is a network interface");
    fabric.carried_by(this);
    for (const auto& found : fabric.switches())
        for (sw::Port* port : found->ports()) add(*found, *port);
}

Network::~Network() {
    for (const auto& channel : channels_) {
        channel->drain();
        sw::Port& port = channel->port();
        port.channel = 0;
        port.overhead_bytes = 0;
        port.wake_scheduled = false;
        if (channel->attached()) port.delay = 0;  // as memory ports have
    }
    fabric_.carried_by(nullptr);
}

Channel& Network::add(sw::Switch& from, sw::Port& port) {
    const auto number = static_cast<std::uint32_t>(channels_.size());
    channels_.push_back(std::make_unique<Channel>(around_, number, from, port));
    port.channel = number + 1;
    port.overhead_bytes = around_.model.overhead_bytes;
    return *channels_.back();
}

Channel& Network::attach(Station& station, sw::Switch& at, sw::PortId id, Nanos delay) {
    sw::Port* port = at.find_port(id);
    if (port == nullptr || port->kind != sw::PortKind::kMemory)
        throw std::invalid_argument(name_of(at, id) + " is no memory port");
    if (delay < 0) throw std::invalid_argument("a delay cannot be negative");
    Channel& down = channel(at, *port);
    if (down.attached()) throw std::invalid_argument(name_of(at, id) + " has a host already");
    down.attach(station);
    port->delay = delay;
    const auto number = static_cast<std::uint32_t>(channels_.size());
    channels_.push_back(std::make_unique<Channel>(around_, number, at, *port, nullptr));
    return *channels_.back();
}

void Network::impair(sw::Switch& at, sw::PortId id, const Impairment& how) {
    sw::Port* port = at.find_port(id);
    if (port == nullptr) throw std::invalid_argument(name_of(at, id) + ": there is none");
    channel(at, *port).impair(how);
}

void Network::transmit(sw::Switch& from, sw::Port& port, sw::Packet* packet, Nanos end) {
    packet->length = packet->visible_length();
    if (!port.up) {
        from.count_lost(port);
        if (kind_of(packet->frame()) == FrameKind::data) ++around_.data_lost;
        if (around_.watch != nullptr) around_.watch->lost(packet->frame(), end);
        around_.pool.give(packet);
        return;
    }
    from.count_sent(port, packet->length);
    if (!port.taps.empty()) port.tell(packet->frame(), false, end);
    Channel& link = channel(from, port);
    if (around_.watch != nullptr) {
        link.count(*packet, end);
        if (csa_type(packet->frame()) == wire::Type::loss)
            around_.watch->told(packet->frame(), packet->length < packet->ingress_length, end);
    }
    link.carry(packet, end);
}

}  // namespace csaud::sim
