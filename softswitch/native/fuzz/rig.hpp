// A switch with a few ports whose entries and packets come from a fuzzer's input.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <vector>

#include "csaud_switch/control/control.hpp"
#include "csaud_switch/fabric/fabric.hpp"

namespace csaud::sw::fuzz {

class Rig {
  public:
    Rig();

    Switch& target() { return switch_; }
    // No entries, members, groups; registers are zero.
    void clear();
    // Entries of any table, and members and groups of any profile. What the control plane refuses is refused.
    void fill(FuzzedDataProvider& input);
    // Packets at any port and from the control plane, until the input is over. Each must end somewhere.
    void run(FuzzedDataProvider& input);

  private:
    ActionSpec action(FuzzedDataProvider& input, const std::vector<std::uint32_t>& among);
    void profile(FuzzedDataProvider& input, const ActionProfile& profile);
    void entry(FuzzedDataProvider& input, const Table& table);
    void settle();
    void balance() const;

    Fabric fabric_;
    Switch& switch_;
};

}  // namespace csaud::sw::fuzz
