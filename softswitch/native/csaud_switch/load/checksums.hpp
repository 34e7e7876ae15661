// Checksums: which calculation goes into which field, or is compared with it.
#pragma once

#include "csaud_switch/load/expressions.hpp"
#include "csaud_switch/load/field_names.hpp"
#include "csaud_switch/load/json.hpp"
#include "csaud_switch/load/names.hpp"
#include "csaud_switch/program/logic.hpp"

namespace csaud::sw {

void load_checksums(const Json& root, FieldNames& fields, ExpressionLoader& expressions, const Names& names,
                    Logic& logic);

}  // namespace csaud::sw
