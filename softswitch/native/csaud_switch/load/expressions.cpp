#include "csaud_switch/load/loader.hpp"

namespace csaud::sw {

namespace {

const std::unordered_map<std::string, Op>& binary_operators() {
    static const std::unordered_map<std::string, Op> operators{
        {"+", Op::kAdd},          {"-", Op::kSub},        {"*", Op::kMul},
        {"/", Op::kDiv},          {"%", Op::kMod},        {"<<", Op::kShl},
        {">>", Op::kShr},         {"&", Op::kAnd},        {"|", Op::kOr},
        {"^", Op::kXor},          {"==", Op::kEq},        {"!=", Op::kNe},
        {"<", Op::kLt},           {"<=", Op::kLe},        {">", Op::kGt},
        {">=", Op::kGe},          {"and", Op::kBoth},     {"or", Op::kEither},
        {"==b", Op::kEq},         {"!=b", Op::kNe},       {"two_comp_mod", Op::kTwoComp},
        {"usat_cast", Op::kUSat}, {"sat_cast", Op::kSat},
    };
    return operators;
}

}  // namespace

ExpressionBuilder::Node Loader::build(ExpressionBuilder& builder, const Json& json, const Scope& scope) {
    const std::string type = text_member(json, "type", scope.where);
    const Json& value = member(json, "value", scope.where);
    if (type == "field") return builder.field(read(value, scope.where));
    if (type == "hexstr") {
        const Wide number = parse_hex(value, scope.where);
        return builder.constant(number, number < 0 && value.get<std::string>()[0] != '-');
    }
    if (type == "stack_field" || type == "union_stack_field")
        return build_last_field(builder, value, scope.where);
    if (type == "bool") return builder.constant(value.get<bool>() ? 1 : 0);
    if (type == "local" || type == "runtime_data") {
        if (scope.action == nullptr || !value.is_number_unsigned() ||
            value.get<std::size_t>() >= scope.action->parameters.size())
            fail(scope.where, "no such action parameter");
        const ActionParameter& parameter = scope.action->parameters[value.get<std::size_t>()];
        return builder.parameter(parameter.word, parameter.width);
    }
    if (type == "expression")
        return value.contains("op") ? build_operation(builder, value, scope) : build(builder, value, scope);
    unsupported(scope.where, "'" + type + "' in an expression");
}

ExpressionBuilder::Node Loader::build_operation(ExpressionBuilder& builder, const Json& json,
                                                const Scope& scope) {
    const std::string op = text_member(json, "op", scope.where);
    const auto operand = [&](const char* side) -> Node {
        const Json& value = member(json, side, scope.where);
        if (value.is_null()) fail(scope.where, "operator '" + op + "' lacks its " + side + " side");
        return build(builder, value, scope);
    };
    const bool is_equal = op == "==" || op == "==h" || op == "==u";
    if ((is_equal || op == "!=" || op == "!=h" || op == "!=u") &&
        names_headers(member(json, "left", scope.where)))
        return build_header_equality(builder, json, is_equal, scope);
    if (op == "==" || op == "!=") {
        const Json& left = member(json, "left", scope.where);
        const Json& right = member(json, "right", scope.where);
        if (left.is_object() && right.is_object() && left.contains("value") && right.contains("value") &&
            is_varbit(left["value"]) && is_varbit(right["value"])) {
            const Node same = builder.same_bits(varbit(left["value"], scope.where).slot,
                                                varbit(right["value"], scope.where).slot);
            return op == "==" ? same : builder.make(Op::kNot, same);
        }
    }
    if (op == "valid" || op == "valid_union") return build_valid(builder, json, scope);
    if (op == "access_field") return build_access(builder, json, scope);
    if (op == "last_stack_index" || op == "size_stack") {
        const Json& owner = member(member(json, "right", scope.where), "value", scope.where);
        const std::uint32_t index = stack(owner, scope.where);
        const FieldRef next{0, logic_->layout.stacks[index].next_slot, 32, false};
        return op == "size_stack" ? builder.field(next) : last_index(builder, index);
    }
    if (op == "d2b") return builder.make(Op::kToBool, operand("right"));
    if (op == "b2d") return operand("right");
    if (op == "not") return builder.make(Op::kNot, operand("right"));
    if (op == "~") return builder.make(Op::kNeg, operand("right"));
    if ((op == "-" || op == "+") && member(json, "left", scope.where).is_null()) {
        const Node zero = builder.constant(0);
        return builder.make(op == "-" ? Op::kSub : Op::kAdd, zero, operand("right"));
    }
    if (op == "?") {
        const Node condition = operand("cond");
        const Node left = operand("left");
        return builder.make(Op::kSelect, condition, left, operand("right"));
    }
    const auto found = binary_operators().find(op);
    if (found == binary_operators().end()) unsupported(scope.where, "operator '" + op + "'");
    const Node left = operand("left");
    return builder.make(found->second, left, operand("right"));
}

// Headers are equal when both are valid, of one type, and all their fields are equal; unions when the same of
// their headers is valid in both, and equal.
ExpressionBuilder::Node Loader::build_header_equality(ExpressionBuilder& builder, const Json& json,
                                                      bool equal, const Scope& scope) {
    const Named left = named_header(builder, member(json, "left", scope.where), scope);
    const Named right = named_header(builder, member(json, "right", scope.where), scope);
    if (left.dynamic || right.dynamic)
        unsupported(scope.where, "comparison of stack elements whose index is not constant");
    if (left.is_union != right.is_union || left.headers.size() != right.headers.size())
        fail(scope.where, "comparison of a header with a union");
    Node same = builder.constant(0);
    for (std::size_t i = 0; i < left.headers.size(); ++i) {
        const Node one = headers_equal(builder, left.headers[i], right.headers[i]);
        same = left.headers.size() == 1 ? one : builder.make(Op::kEither, same, one);
    }
    return equal ? same : builder.make(Op::kNot, same);
}

ExpressionBuilder::Node Loader::headers_equal(ExpressionBuilder& builder, std::uint32_t left,
                                              std::uint32_t right) {
    Header& a = logic_->layout.headers[left];
    Header& b = logic_->layout.headers[right];
    if (a.type != b.type) return builder.constant(0);
    Node same = builder.make(Op::kBoth, builder.field({0, a.valid_slot, 1, false}),
                             builder.field({0, b.valid_slot, 1, false}));
    for (std::size_t i = 0; i < a.fields.size(); ++i) {
        Node equal = 0;
        if (a.fields[i].opaque)
            unsupported("header '" + a.name + "'", "comparison of a field of more than 128 bits");
        if (a.fields[i].varbit) {
            equal = builder.same_bits(a.fields[i].slot, b.fields[i].slot);
        } else {
            a.fields[i].used = b.fields[i].used = true;
            const FieldRef x{0, a.fields[i].slot, a.fields[i].width, false};
            const FieldRef y{0, b.fields[i].slot, b.fields[i].width, false};
            equal = builder.make(Op::kEq, builder.field(x), builder.field(y));
        }
        same = builder.make(Op::kBoth, same, equal);
    }
    return same;
}

bool Loader::names_headers(const Json& operand) const {
    if (!operand.is_object()) return false;
    const std::string type = optional_text(operand, "type");
    if (type == "header" || type == "header_union") return true;
    if (type != "expression" || !operand.contains("value")) return false;
    const Json& value = operand["value"];
    const std::string op = optional_text(value, "op");
    if (op.empty()) return names_headers(value);
    return op == "dereference_header_stack" || op == "dereference_union_stack" || op == "access_union_header";
}

Expression Loader::expression(const Json& value, unsigned bits, const Scope& scope) {
    ExpressionBuilder builder;
    const Node root = build(builder, value, scope);
    return builder.finish(root, bits, scope.where);
}

}  // namespace csaud::sw
