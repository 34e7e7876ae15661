#include "csaud_switch/fabric/interfaces.hpp"

namespace csaud::sw {

void Interfaces::attach(Switch& owner, Port& port, std::unique_ptr<Interface> interface) {
    port.kind = PortKind::kInterface;
    port.ifname = interface->name();
    port.interface = static_cast<int>(all_.size());
    all_.push_back({std::move(interface), &owner, &port});
    check(all_.back());
}

void Interfaces::detach(const Port& port, Nanos now) {
    Attached& entry = all_[place(port)];
    flush(entry, now);
    entry = Attached{};
}

void Interfaces::send(const Port& port, Packet* packet, Nanos now) {
    const Attached& entry = all_[place(port)];
    entry.interface->add(packet);
    if (entry.interface->waiting() >= Interface::kBatch) flush(entry, now);
}

void Interfaces::flush(const Attached& entry, Nanos now) {
    const auto result = entry.interface->flush();
    for (const Interface::Sent& sent : result) {
        if (sent.fate == Interface::Fate::kSent) {
            entry.owner->count_sent(*entry.port, sent.packet->visible_length());
            entry.port->tell(sent.packet->frame(), false, now);
        } else if (sent.fate == Interface::Fate::kDown) {
            entry.owner->count_lost(*entry.port);
        } else {
            entry.owner->count_tx_error(*entry.port);
        }
        pool_.give(sent.packet);
    }
}

void Interfaces::flush(Nanos now) {
    for (const Attached& entry : all_)
        if (entry.interface && entry.interface->waiting()) flush(entry, now);
}

void Interfaces::check(const Attached& entry) {
    const bool there = entry.interface->follow();
    entry.owner->set_port_up(*entry.port, there && entry.interface->is_up());
}

void Interfaces::check(int index, const std::string& name) {
    for (const Attached& entry : all_)
        if (entry.interface && (entry.interface->index() == index || entry.interface->name() == name))
            check(entry);
}

void Interfaces::check() {
    for (const Attached& entry : all_)
        if (entry.interface) check(entry);
}

}  // namespace csaud::sw
