// Entries that the program itself gives a table.
#pragma once

#include <string>

#include "csaud_switch/load/json.hpp"
#include "csaud_switch/load/names.hpp"
#include "csaud_switch/program/logic.hpp"
#include "csaud_switch/tables/table.hpp"

namespace csaud::sw {

// Of a table whose keys and actions are loaded.
void load_default(Table& table, const Json& json, const Logic& logic, const Names& names,
                  const std::string& where);
void load_entries(Table& table, const Json& entries, const Logic& logic, const Names& names,
                  const std::string& where);

}  // namespace csaud::sw
