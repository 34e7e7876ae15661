// Expressions of the JSON: what they name, and what they are worth when a packet is there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "csaud_switch/load/field_names.hpp"
#include "csaud_switch/load/json.hpp"
#include "csaud_switch/program/action.hpp"
#include "csaud_switch/program/expression_builder.hpp"

namespace csaud::sw {

// What an expression belongs to, for messages, and what its locals are: outside of actions nothing.
struct Scope {
    std::string where;
    const Action* action = nullptr;
};

class ExpressionLoader {
  public:
    // A field of a stack's element that is known only when the packet is there.
    struct Element {
        std::uint32_t stack = 0;
        std::uint32_t member = 0;
        FieldRef first;  // of element 0
        Expression index;
    };

    // They stay where they are.
    explicit ExpressionLoader(FieldNames& fields) : fields_(fields) {}

    // bits: as in ExpressionBuilder::finish
    Expression load(const Json& value, unsigned bits, const Scope& scope);
    // The headers of which `index` chooses one.
    std::vector<std::uint32_t> headers_among(const Json& json, Expression& index, const Scope& scope);
    Element written_element(const Json& target, const Scope& scope);

  private:
    using Node = ExpressionBuilder::Node;

    // A header or union that an expression names: in element `index` of a stack when dynamic.
    struct Named {
        bool is_union = false;
        std::vector<std::uint32_t> headers;  // of element 0 of a stack
        bool dynamic = false;
        std::uint32_t stack = 0;
        std::uint32_t member = 0;
        Node index = 0;
    };

    Node build(ExpressionBuilder& builder, const Json& value, const Scope& scope);
    Node build_operation(ExpressionBuilder& builder, const Json& operation, const Scope& scope);
    Node build_header_equality(ExpressionBuilder& builder, const Json& operation, bool equal,
                               const Scope& scope);
    Node headers_equal(ExpressionBuilder& builder, std::uint32_t a, std::uint32_t b);
    bool names_headers(const Json& operand) const;
    Named named_header(ExpressionBuilder& builder, const Json& json, const Scope& scope);
    Node build_access(ExpressionBuilder& builder, const Json& json, const Scope& scope);
    Node build_valid(ExpressionBuilder& builder, const Json& json, const Scope& scope);
    Node build_last_field(ExpressionBuilder& builder, const Json& path, const std::string& where);
    Node last_index(ExpressionBuilder& builder, std::uint32_t stack) const;

    FieldNames& fields_;
};

}  // namespace csaud::sw
