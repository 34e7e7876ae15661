// From the JSON that p4c makes for BMv2 to a program that the switch can run.
#pragma once

#include <memory>
#include <string>

#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

// Whatever the switch cannot run is a ProgramError that names the construct, here and never on a packet.
std::unique_ptr<Program> load_program(const std::string& bmv2_json);

}  // namespace csaud::sw
