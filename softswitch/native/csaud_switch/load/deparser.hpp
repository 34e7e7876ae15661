// The order that headers are sent in.
#pragma once

#include "csaud_switch/load/field_names.hpp"
#include "csaud_switch/load/json.hpp"
#include "csaud_switch/program/logic.hpp"

namespace csaud::sw {

void load_deparser(const Json& root, const FieldNames& fields, Logic& logic);

}  // namespace csaud::sw
