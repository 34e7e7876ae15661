// From a program that goes to the one that takes its place: what both have keeps its state.
#pragma once

#include "csaud_switch/program/program.hpp"
#include "csaud_switch/tables/action_profile.hpp"

namespace csaud::sw {

// Counters, registers, meters, the counts of entries, and which slots a group's members have, on which the
// choice of a path depends.
void carry_state(Program& from, Program& to, const PortIsUp& is_up);

}  // namespace csaud::sw
