#include "csaud_switch/load/load_program.hpp"

#include <utility>

#include "csaud_switch/base/error.hpp"
#include "csaud_switch/load/actions.hpp"
#include "csaud_switch/load/calculations.hpp"
#include "csaud_switch/load/checksums.hpp"
#include "csaud_switch/load/deparser.hpp"
#include "csaud_switch/load/expressions.hpp"
#include "csaud_switch/load/field_names.hpp"
#include "csaud_switch/load/header_moves.hpp"
#include "csaud_switch/load/headers.hpp"
#include "csaud_switch/load/json.hpp"
#include "csaud_switch/load/names.hpp"
#include "csaud_switch/load/parser.hpp"
#include "csaud_switch/load/pipelines.hpp"
#include "csaud_switch/load/state.hpp"
#include "csaud_switch/load/tables.hpp"
#include "csaud_switch/load/target_fields.hpp"

namespace csaud::sw {

namespace {

void refuse_externs(const Json& root) {
    const auto found = root.find("extern_instances");
    if (found == root.end() || !found->is_array() || found->empty()) return;
    unsupported("program", "extern '" + optional_text((*found)[0], "name") + "'");
}

// Each part names what was loaded before it.
std::unique_ptr<Program> load(const Json& root) {
    if (!root.is_object()) fail("program", "expected a JSON object");
    refuse_externs(root);
    const auto logic = std::make_shared<Logic>();
    auto program = std::make_unique<Program>();
    Names names;

    load_headers(root, logic->layout);
    FieldNames fields(root, logic->layout);
    load_aliases(root, fields, logic->layout);
    logic->target = find_target_fields(fields);
    load_field_lists(root, fields, *logic, names);

    load_state(root, fields, *program, names);
    load_calculations(root, fields, *logic, names);

    ExpressionLoader expressions(fields);
    ActionLoader actions(fields, expressions, *program, *logic, names);
    actions.load(root);
    ParserLoader(fields, expressions, actions, names, *logic, *program).load(root);
    TableLoader tables(fields, *logic, *program, names);
    PipelineLoader(tables, expressions, names, *logic, *program).load(root);
    load_checksums(root, fields, expressions, names, *logic);
    load_deparser(root, fields, *logic);

    find_header_moves(*logic);
    program->logic = logic;
    return program;
}

}  // namespace

std::unique_ptr<Program> load_program(const std::string& bmv2_json) {
    try {
        return load(Json::parse(bmv2_json));
    } catch (const Json::exception& error) {
        throw ProgramError(std::string("not a JSON program for BMv2: ") + error.what());
    }
}

}  // namespace csaud::sw
