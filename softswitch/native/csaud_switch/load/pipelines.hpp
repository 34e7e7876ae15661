// Pipelines: tables, conditions and calls of actions, and the ways from one to the next.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "csaud_switch/load/expressions.hpp"
#include "csaud_switch/load/json.hpp"
#include "csaud_switch/load/names.hpp"
#include "csaud_switch/load/tables.hpp"
#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

class PipelineLoader {
  public:
    // When actions are loaded. All stay where they are.
    PipelineLoader(TableLoader& tables, ExpressionLoader& expressions, const Names& names, Logic& logic,
                   Program& program)
        : tables_(tables), expressions_(expressions), names_(names), logic_(logic), program_(program) {}

    void load(const Json& root);

  private:
    using Nodes = std::unordered_map<std::string, std::uint32_t>;

    Pipeline load_pipeline(const Json& json);
    void load_table_flow(Table& table, const Json& json, const Nodes& nodes) const;

    TableLoader& tables_;
    ExpressionLoader& expressions_;
    const Names& names_;
    Logic& logic_;
    Program& program_;
};

}  // namespace csaud::sw
