#include "csaud_switch/fabric/ports.hpp"

#include <string>
#include <utility>

#include "csaud_switch/base/error.hpp"

namespace csaud::sw {

Port& Ports::add(PortId id) {
    if (find(id) != nullptr)
        throw AlreadyExists("switch '" + config_.name + "' already has a port " + std::to_string(id));
    if (id == config_.cpu_port || id == config_.drop_port || id > 0xFFFF)
        throw InvalidArgument("switch '" + config_.name + "': " + std::to_string(id) +
                              " cannot be the number of a port");
    if (id >= ports_.size()) ports_.resize(id + 1);
    ports_[id] = std::make_unique<Port>();
    ports_[id]->id = id;
    ports_[id]->up = false;
    return *ports_[id];
}

void Ports::remove(Port& port) {
    port.removed = true;
    removed_.push_back(std::move(ports_[port.id]));
}

Port& Ports::at(PortId id) const {
    Port* found = find(id);
    if (found == nullptr) throw NotFound("switch '" + config_.name + "' has no port " + std::to_string(id));
    return *found;
}

std::vector<Port*> Ports::all() const {
    std::vector<Port*> all;
    for (const auto& port : ports_)
        if (port) all.push_back(port.get());
    return all;
}

}  // namespace csaud::sw
