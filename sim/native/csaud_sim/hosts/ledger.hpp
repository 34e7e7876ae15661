// What is kept of hosts beyond what they know themselves.
#pragma once

#include "csaud_sim/hosts/copies.hpp"
#include "csaud_sim/hosts/messages.hpp"

namespace csaud::sim {

struct Ledger {
    Copies copies;
    Messages messages;
};

}  // namespace csaud::sim
