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
    if (op == "==h" || op == "!=h") return build_header_equality(builder, json, op == "==h", scope);
    if (op == "valid") {
        const Json& right = member(json, "right", scope.where);
        if (text_member(right, "type", scope.where) != "header")
            unsupported(scope.where, "'valid' of something other than a header");
        const Header& owner =
            program_->layout.headers[header(member(right, "value", scope.where), scope.where)];
        return builder.field({0, owner.valid_slot, 1, false});
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

// Headers are equal when both are valid, of one type, and all their fields are equal.
ExpressionBuilder::Node Loader::build_header_equality(ExpressionBuilder& builder, const Json& json,
                                                      bool equal, const Scope& scope) {
    const auto side = [&](const char* name) {
        const Json& value = member(json, name, scope.where);
        if (text_member(value, "type", scope.where) != "header")
            unsupported(scope.where, "comparison with something other than a header");
        return header(member(value, "value", scope.where), scope.where);
    };
    Header& a = program_->layout.headers[side("left")];
    Header& b = program_->layout.headers[side("right")];
    Node same = builder.make(Op::kBoth, builder.field({0, a.valid_slot, 1, false}),
                             builder.field({0, b.valid_slot, 1, false}));
    if (a.type != b.type) same = builder.constant(0);
    for (std::size_t i = 0; a.type == b.type && i < a.fields.size(); ++i) {
        a.fields[i].used = b.fields[i].used = true;
        const FieldRef left{0, a.fields[i].slot, a.fields[i].width, false};
        const FieldRef right{0, b.fields[i].slot, b.fields[i].width, false};
        same =
            builder.make(Op::kBoth, same, builder.make(Op::kEq, builder.field(left), builder.field(right)));
    }
    return equal ? same : builder.make(Op::kNot, same);
}

Expression Loader::expression(const Json& value, unsigned bits, const Scope& scope) {
    ExpressionBuilder builder;
    const Node root = build(builder, value, scope);
    return builder.finish(root, bits, scope.where);
}

}  // namespace csaud::sw
