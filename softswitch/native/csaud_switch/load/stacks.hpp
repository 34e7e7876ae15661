// Stacks of headers and of unions, and unions: what they consist of, and where it lies.
#pragma once

#include <cstdint>
#include <vector>

#include "csaud_switch/load/json.hpp"
#include "csaud_switch/model/layout.hpp"

namespace csaud::sw {

// Of headers that are loaded.
void load_unions(const Json& root, Layout& layout);
void load_stacks(const Json& root, Layout& layout);
// In which headers get their words: those of a stack come one after the other.
std::vector<std::uint32_t> order_of_headers(const Layout& layout);
// When headers have theirs.
void place_stacks(Layout& layout);

}  // namespace csaud::sw
