// What packets need only within a switch: the words of a program's fields, and the state of its headers. Kept
// apart from packets on links, so that the few that are in use stay in the processor's cache.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "csaud_switch/base/packet.hpp"

namespace csaud::sim {

class Workspaces {
  public:
    void take_from(sw::Packet& packet) {
        if (!packet.slots.empty()) free_.push_back({std::move(packet.slots), std::move(packet.headers)});
    }
    void give_to(sw::Packet& packet) {
        if (free_.empty() || !packet.slots.empty()) return;
        packet.slots = std::move(free_.back().slots);
        packet.headers = std::move(free_.back().headers);
        free_.pop_back();
    }

  private:
    struct Workspace {
        std::vector<std::uint64_t> slots;
        std::vector<sw::HeaderState> headers;
    };

    std::vector<Workspace> free_;  // the last one was used last
};

}  // namespace csaud::sim
