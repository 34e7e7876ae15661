// Hashes over fields: which algorithm, and of what.
#pragma once

#include <string>

#include "csaud_switch/load/field_names.hpp"
#include "csaud_switch/load/json.hpp"
#include "csaud_switch/load/names.hpp"
#include "csaud_switch/model/calculation.hpp"
#include "csaud_switch/program/logic.hpp"

namespace csaud::sw {

void load_calculations(const Json& root, FieldNames& fields, Logic& logic, Names& names);
CalculationInput calculation_input(const Json& json, FieldNames& fields, const std::string& where);

}  // namespace csaud::sw
