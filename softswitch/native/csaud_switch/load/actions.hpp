// Actions: their parameters and primitives.
#pragma once

#include <cstdint>
#include <string>

#include "csaud_switch/load/expressions.hpp"
#include "csaud_switch/load/field_names.hpp"
#include "csaud_switch/load/header_primitives.hpp"
#include "csaud_switch/load/json.hpp"
#include "csaud_switch/load/names.hpp"
#include "csaud_switch/program/action.hpp"
#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

class ActionLoader {
  public:
    // When state and calculations are loaded. All stay where they are.
    ActionLoader(FieldNames& fields, ExpressionLoader& expressions, const Program& program, Logic& logic,
                 Names& names)
        : fields_(fields),
          expressions_(expressions),
          headers_(fields, expressions),
          program_(program),
          logic_(logic),
          names_(names) {}

    void load(const Json& root);
    // One of an action, or that stands alone in a parser.
    Primitive primitive(const Json& json, const Scope& scope);

  private:
    Action load_action(const Json& json);
    std::uint32_t field_list(const Json& argument, const std::string& where) const;

    FieldNames& fields_;
    ExpressionLoader& expressions_;
    HeaderPrimitives headers_;
    const Program& program_;
    Logic& logic_;
    Names& names_;
};

}  // namespace csaud::sw
