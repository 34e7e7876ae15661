// The fabric's ports that are network interfaces.
#include "csaud_switch/base/error.hpp"
#include "csaud_switch/fabric/fabric.hpp"

namespace csaud::sw {

Port& Fabric::add_interface_port(Switch& at, PortId id, std::unique_ptr<Interface> interface,
                                 const LinkConfig& config) {
    Port& port = at.add_port(id);
    apply_config(port, config);
    port.kind = PortKind::kInterface;
    port.ifname = interface->name();
    port.interface = static_cast<int>(interfaces_.size());
    interfaces_.push_back({std::move(interface), &at, &port});
    check_interface(interfaces_.back());
    return port;
}

std::size_t Fabric::receive(std::size_t index, Nanos now, std::size_t most) {
    InterfacePort& entry = interfaces_[index];
    if (!entry.interface) return 0;
    std::size_t total = 0;
    while (total < most) {
        const auto frames = entry.interface->receive();
        if (frames.empty()) break;
        total += frames.size();
        for (Packet* packet : frames) {
            entry.port->tell(packet->frame(), true, now);
            entry.owner->receive(packet, entry.port->id, now);
            drain();
        }
        if (frames.size() < Interface::kBatch) break;
    }
    entry.port->figures.rx_errors = entry.interface->rx_errors();
    return total;
}

void Fabric::flush(InterfacePort& entry) {
    const auto result = entry.interface->flush();
    for (const Interface::Sent& sent : result) {
        if (sent.fate == Interface::Fate::kSent) {
            entry.owner->count_sent(*entry.port, sent.packet->visible_length());
            entry.port->tell(sent.packet->frame(), false, now_);
        } else if (sent.fate == Interface::Fate::kDown) {
            entry.owner->count_lost(*entry.port);
        } else {
            entry.owner->count_tx_error(*entry.port);
        }
        pool_.give(sent.packet);
    }
}

void Fabric::flush_interfaces() {
    for (InterfacePort& entry : interfaces_)
        if (entry.interface && entry.interface->waiting()) flush(entry);
}

void Fabric::check_interface(InterfacePort& entry) {
    const bool there = entry.interface->follow();
    entry.owner->set_port_up(*entry.port, there && entry.interface->is_up());
}

void Fabric::check_interface(int index, const std::string& name) {
    for (InterfacePort& entry : interfaces_)
        if (entry.interface && (entry.interface->index() == index || entry.interface->name() == name))
            check_interface(entry);
}

void Fabric::check_interfaces() {
    for (InterfacePort& entry : interfaces_)
        if (entry.interface) check_interface(entry);
}

}  // namespace csaud::sw
