// The ports of one switch, by their numbers.
#pragma once

#include <memory>
#include <vector>

#include "csaud_switch/fabric/port.hpp"
#include "csaud_switch/fabric/switch_config.hpp"

namespace csaud::sw {

class Ports {
  public:
    // The configuration stays where it is.
    explicit Ports(const SwitchConfig& config) : config_(config) {}

    // It is down until somebody says otherwise.
    Port& add(PortId id);
    void remove(Port& port);
    Port* find(PortId id) const { return id < ports_.size() ? ports_[id].get() : nullptr; }
    Port& at(PortId id) const;  // NotFound
    std::vector<Port*> all() const;
    bool is_up(PortId id) const {
        const Port* found = find(id);
        return found != nullptr && found->up;
    }

  private:
    const SwitchConfig& config_;
    std::vector<std::unique_ptr<Port>> ports_;    // by id
    std::vector<std::unique_ptr<Port>> removed_;  // events may still name them
};

}  // namespace csaud::sw
