// Header types and headers, and where their fields lie.
#pragma once

#include "csaud_switch/load/json.hpp"
#include "csaud_switch/model/layout.hpp"

namespace csaud::sw {

// With stacks and unions of them. Aliases and what the program does with the fields are not known then.
void load_headers(const Json& root, Layout& layout);

}  // namespace csaud::sw
