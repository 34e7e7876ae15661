// What a switch keeps between packets beside its tables: counters, registers, meters, value sets, and
// digests.
#pragma once

#include "csaud_switch/load/field_names.hpp"
#include "csaud_switch/load/json.hpp"
#include "csaud_switch/load/names.hpp"
#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

void load_state(const Json& root, FieldNames& fields, Program& program, Names& names);

}  // namespace csaud::sw
