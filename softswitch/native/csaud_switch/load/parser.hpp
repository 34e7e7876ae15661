// The parser: its states, what each does, and where it goes on.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "csaud_switch/load/actions.hpp"
#include "csaud_switch/load/expressions.hpp"
#include "csaud_switch/load/field_names.hpp"
#include "csaud_switch/load/json.hpp"
#include "csaud_switch/load/names.hpp"
#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

class ParserLoader {
  public:
    // When value sets are loaded. All stay where they are.
    ParserLoader(FieldNames& fields, ExpressionLoader& expressions, ActionLoader& actions, const Names& names,
                 Logic& logic, Program& program)
        : fields_(fields),
          expressions_(expressions),
          actions_(actions),
          names_(names),
          logic_(logic),
          program_(program) {}

    void load(const Json& root);

  private:
    using States = std::unordered_map<std::string, std::uint32_t>;

    ParserState load_state(const Json& json, const States& states);
    void transitions(ParserState& state, const Json& json, const States& states, const std::string& where);
    std::uint32_t value_set(const Json& transition, const ParserState& state, const std::string& where);
    ParserOp parser_op(const Json& json, const std::string& where);
    ParserOp parser_extract(const Json& parameters, bool variable, const std::string& where);
    ParserOp parser_set(const Json& parameters, const std::string& where);

    FieldNames& fields_;
    ExpressionLoader& expressions_;
    ActionLoader& actions_;
    const Names& names_;
    Logic& logic_;
    Program& program_;  // its value sets, whose keys the states say
};

}  // namespace csaud::sw
