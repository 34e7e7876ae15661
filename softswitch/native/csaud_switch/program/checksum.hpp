// A checksum: a calculation whose result is compared with a field, or written to it.
#pragma once

#include <cstdint>
#include <string>

#include "csaud_switch/model/layout.hpp"
#include "csaud_switch/program/expression.hpp"

namespace csaud::sw {

struct Checksum {
    std::string name;
    std::uint32_t calculation = 0;
    FieldRef target;
    std::uint32_t target_valid_slot = 0;
    bool target_metadata = false;
    bool conditional = false;
    Expression condition;
};

}  // namespace csaud::sw
