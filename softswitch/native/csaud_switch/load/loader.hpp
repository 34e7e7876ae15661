// How load_program does its work, one file for each part of the JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "csaud_switch/load/json.hpp"
#include "csaud_switch/load/load_program.hpp"
#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

class Loader {
  public:
    explicit Loader(const Json& root)
        : root_(root), logic_(std::make_shared<Logic>()), program_(std::make_unique<Program>()) {}
    std::unique_ptr<Program> load();

  private:
    using Node = ExpressionBuilder::Node;

    // What the locals of an expression are, outside of actions nothing.
    struct Scope {
        std::string where;
        const Action* action = nullptr;
    };

    // --- headers.cpp
    void load_headers();
    void load_aliases();
    void find_target_fields();
    void load_field_lists();
    void finish_headers();  // once it is known which fields are used
    std::uint32_t header(const Json& name, const std::string& where) const;
    FieldRef field(const Json& path, const std::string& where, bool write);
    FieldRef read(const Json& path, const std::string& where) { return field(path, where, false); }
    FieldRef write(const Json& path, const std::string& where) { return field(path, where, true); }
    // A field of variable length.
    FieldRef varbit(const Json& path, const std::string& where) const;
    bool is_varbit(const Json& path) const;
    void use_whole(std::uint32_t header);  // every field is read and written

    void place_fields(Header& header);

    // --- stacks.cpp
    // A header or union that an expression names: in element `index` of a stack when dynamic.
    struct Named {
        bool is_union = false;
        std::vector<std::uint32_t> headers;  // of element 0 of a stack
        bool dynamic = false;
        std::uint32_t stack = 0;
        std::uint32_t member = 0;
        Node index = 0;
    };
    struct LastField {
        std::uint32_t stack = 0;
        std::uint32_t member = 0;
        FieldRef first;  // of element 0
    };
    void load_unions();
    void load_stacks();
    std::vector<std::uint32_t> order_of_headers() const;
    void place_stacks();
    void share_uses();
    std::uint32_t stack(const Json& name, const std::string& where) const;
    std::uint32_t header_union(const Json& name, const std::string& where) const;
    Named named_header(ExpressionBuilder& builder, const Json& json, const Scope& scope);
    // The headers of which `index` chooses one.
    std::vector<std::uint32_t> headers_among(const Json& json, Expression& index, const Scope& scope);
    FieldRef element_field(std::uint32_t stack, std::uint32_t member, std::uint32_t field, bool write,
                           const std::string& where);
    Node build_access(ExpressionBuilder& builder, const Json& json, const Scope& scope);
    Node build_valid(ExpressionBuilder& builder, const Json& json, const Scope& scope);
    Node last_index(ExpressionBuilder& builder, std::uint32_t stack) const;
    Node build_last_field(ExpressionBuilder& builder, const Json& path, const std::string& where);
    LastField last_field(const Json& path, bool write, const std::string& where);
    std::uint32_t union_member(const HeaderStack& of, const Json& name, const std::string& where) const;

    // --- expressions.cpp
    Node build(ExpressionBuilder& builder, const Json& value, const Scope& scope);
    Node build_operation(ExpressionBuilder& builder, const Json& operation, const Scope& scope);
    Node build_header_equality(ExpressionBuilder& builder, const Json& operation, bool equal,
                               const Scope& scope);
    Node headers_equal(ExpressionBuilder& builder, std::uint32_t a, std::uint32_t b);
    bool names_headers(const Json& operand) const;
    // bits: as in ExpressionBuilder::finish
    Expression expression(const Json& value, unsigned bits, const Scope& scope);

    // --- actions.cpp
    void load_actions();
    Action load_action(const Json& json);
    Primitive primitive(const Json& json, const Scope& scope);
    void assignment(Primitive& out, const Json& target, const Json& value, const Scope& scope);
    void assign_element(Primitive& out, const Json& target, const Json& value, const Scope& scope);
    void header_operation(Primitive& out, const std::string& op, const Json& arguments, const Scope& scope);
    void mark_to_drop(Primitive& out, const Json& arguments, const Scope& scope);
    // Headers whose fields all are read or written.
    void copied(const std::vector<std::uint32_t>& to, const std::vector<std::uint32_t>& from,
                const std::string& where);
    std::uint32_t field_list(const Json& argument, const std::string& where) const;
    std::uint32_t named(const Json& argument, const char* type,
                        const std::unordered_map<std::string, std::uint32_t>& names,
                        const std::string& where) const;

    // --- parser.cpp
    void load_parser();
    ParserState load_state(const Json& json, const std::unordered_map<std::string, std::uint32_t>& states);
    ParserOp parser_op(const Json& json, const std::string& where);
    ParserOp parser_extract(const Json& parameters, bool variable, const std::string& where);
    ParserOp parser_set(const Json& parameters, const std::string& where);
    std::uint32_t value_set(const Json& transition, const ParserState& state, const std::string& where);
    void transitions(ParserState& state, const Json& json,
                     const std::unordered_map<std::string, std::uint32_t>& states, const std::string& where);
    std::uint32_t error_code(const std::string& name, std::uint32_t otherwise) const;

    // --- pipelines.cpp
    void load_pipelines();
    Pipeline load_pipeline(const Json& json);
    void load_profile(const Json& json);
    std::unique_ptr<Table> load_table(const Json& json);
    void load_keys(Table& table, const Json& json, const std::string& where);
    void load_table_flow(Table& table, const Json& json,
                         const std::unordered_map<std::string, std::uint32_t>& nodes);
    void load_default(Table& table, const Json& json, const std::string& where);
    void load_entries(Table& table, const Json& entries, const std::string& where);
    MatchField entry_field(const Json& json, const KeyField& key, const std::string& where) const;
    Binding action_entry(const Table& table, const Json& json, const std::string& where) const;

    // --- loader.cpp
    void refuse_what_is_not_supported() const;
    void load_state();
    void load_meters();
    void load_value_sets();
    void load_digests();
    void load_calculations();
    CalculationInput calculation_input(const Json& json, const std::string& where);
    void load_checksums();
    void load_deparser();

    const Json& root_;
    std::shared_ptr<Logic> logic_;
    std::unique_ptr<Program> program_;
    std::unordered_map<std::uint32_t, std::uint32_t> action_by_id_;
    std::unordered_map<std::string, std::uint32_t> calculations_, counters_, meters_, registers_, profiles_,
        value_sets_, stacks_, unions_;
    std::unordered_map<std::string, std::uint32_t> direct_meters_;
    std::unordered_map<std::uint32_t, FieldRef> direct_meter_targets_;
    std::unordered_map<std::uint32_t, std::uint32_t> digests_;      // id -> index
    std::unordered_map<std::uint32_t, std::uint32_t> field_lists_;  // id -> index
};

}  // namespace csaud::sw
