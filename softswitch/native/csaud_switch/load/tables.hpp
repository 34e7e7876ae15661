// Tables and action profiles.
#pragma once

#include <memory>
#include <string>

#include "csaud_switch/load/field_names.hpp"
#include "csaud_switch/load/json.hpp"
#include "csaud_switch/load/names.hpp"
#include "csaud_switch/program/program.hpp"
#include "csaud_switch/tables/table.hpp"

namespace csaud::sw {

class TableLoader {
  public:
    // When state and actions are loaded. All stay where they are.
    TableLoader(FieldNames& fields, const Logic& logic, Program& program, Names& names)
        : fields_(fields), logic_(logic), program_(program), names_(names) {}

    // Into the program, before the tables that use it.
    void load_profile(const Json& json);
    // Without the way on from it, which the pipeline says.
    std::unique_ptr<Table> load(const Json& json);

  private:
    void load_keys(Table& table, const Json& json, const std::string& where);

    FieldNames& fields_;
    const Logic& logic_;
    Program& program_;
    Names& names_;
};

}  // namespace csaud::sw
