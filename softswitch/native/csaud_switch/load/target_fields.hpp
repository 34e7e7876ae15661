// Fields that the target itself sets or reads, by its own names or by aliases; and lists of those that copies
// and repeated passes keep.
#pragma once

#include "csaud_switch/load/field_names.hpp"
#include "csaud_switch/load/json.hpp"
#include "csaud_switch/load/names.hpp"
#include "csaud_switch/program/logic.hpp"

namespace csaud::sw {

void load_aliases(const Json& root, FieldNames& fields, Layout& layout);
// When aliases are loaded.
TargetFields find_target_fields(FieldNames& fields);
void load_field_lists(const Json& root, FieldNames& fields, Logic& logic, Names& names);

}  // namespace csaud::sw
