// The fabric's ports that are network interfaces.
#include <cerrno>

#include "csaud_switch/base/error.hpp"
#include "csaud_switch/fabric/fabric.hpp"

namespace csaud::sw {

Port& Fabric::add_veth_port(Switch& at, PortId id, const std::string& ifname, const LinkConfig& config) {
    auto socket = std::make_unique<PacketSocket>(ifname, pool_);
    Port& port = at.add_port(id);
    apply_config(port, config);
    port.kind = PortKind::kVeth;
    port.ifname = ifname;
    port.socket = static_cast<int>(sockets_.size());
    sockets_.push_back({std::move(socket), &at, &port});
    check_interface(sockets_.back());
    return port;
}

std::size_t Fabric::receive(std::size_t index, Nanos now, std::size_t most) {
    SocketPort& entry = sockets_[index];
    if (!entry.socket) return 0;
    std::size_t total = 0;
    while (total < most) {
        const auto frames = entry.socket->receive();
        if (frames.empty()) break;
        total += frames.size();
        for (Packet* packet : frames) {
            entry.port->tell(packet->frame(), true, now);
            entry.owner->receive(packet, entry.port->id, now);
            drain();
        }
        if (frames.size() < PacketSocket::kBatch) break;
    }
    entry.port->figures.rx_errors = entry.socket->rx_errors();
    return total;
}

void Fabric::flush_socket(SocketPort& entry) {
    const auto result = entry.socket->flush();
    for (const PacketSocket::Sent& sent : result) {
        if (sent.error == 0) {
            entry.owner->count_sent(*entry.port, sent.packet->visible_length());
            entry.port->tell(sent.packet->frame(), false, now_);
        } else if (sent.error == ENETDOWN || sent.error == ENXIO || sent.error == ENODEV ||
                   (sent.error == ENOBUFS && !entry.socket->interface_is_up())) {
            // ENOBUFS is also what an interface without carrier answers.
            entry.owner->count_lost(*entry.port);
        } else {
            entry.owner->count_tx_error(*entry.port);
        }
        pool_.give(sent.packet);
    }
}

void Fabric::flush_sockets() {
    for (SocketPort& entry : sockets_)
        if (entry.socket && entry.socket->waiting()) flush_socket(entry);
}

void Fabric::check_interface(SocketPort& entry) {
    const bool there = entry.socket->follow();
    entry.owner->set_port_up(*entry.port, there && entry.socket->interface_is_up());
}

void Fabric::check_interface(int index, const std::string& name) {
    for (SocketPort& entry : sockets_)
        if (entry.socket && (entry.socket->index() == index || entry.socket->interface() == name))
            check_interface(entry);
}

void Fabric::check_interfaces() {
    for (SocketPort& entry : sockets_)
        if (entry.socket) check_interface(entry);
}

}  // namespace csaud::sw
