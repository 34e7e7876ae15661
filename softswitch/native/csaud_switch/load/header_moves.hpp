// Which fields are moved between packets and words: those that the program uses.
#pragma once

#include "csaud_switch/program/logic.hpp"

namespace csaud::sw {

// When all of the program is loaded that uses fields.
void find_header_moves(Logic& logic);

}  // namespace csaud::sw
