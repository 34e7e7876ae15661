// What is loaded, as later parts of the JSON name it: places in the program.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "csaud_switch/model/layout.hpp"

namespace csaud::sw {

struct Names {
    using ByName = std::unordered_map<std::string, std::uint32_t>;
    using ById = std::unordered_map<std::uint32_t, std::uint32_t>;

    ByName calculations, counters, meters, registers, value_sets, profiles;
    ById actions, digests, field_lists;
    // Those of which each entry of a table has one of its own, and where the colour goes.
    ByName direct_meters;
    std::unordered_map<std::uint32_t, FieldRef> direct_meter_targets;
};

}  // namespace csaud::sw
