#include "csaud_switch/load/expressions.hpp"

#include <string>
#include <unordered_map>

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

Expression ExpressionLoader::load(const Json& value, unsigned bits, const Scope& scope) {
    ExpressionBuilder builder;
    const Node root = build(builder, value, scope);
    return builder.finish(root, bits, scope.where);
}

std::vector<std::uint32_t> ExpressionLoader::headers_among(const Json& json, Expression& index,
                                                           const Scope& scope) {
    ExpressionBuilder builder;
    const Named named = named_header(builder, json, scope);
    if (named.is_union) unsupported(scope.where, "a header union where a header is expected");
    std::vector<std::uint32_t> all = named.headers;
    if (named.dynamic) {
        const HeaderStack& of = fields_.layout().stacks[named.stack];
        for (std::uint32_t element = 1; element < of.size; ++element)
            all.push_back(of.header(element, named.member));
    }
    for (const std::uint32_t header : all)
        if (fields_.layout().headers[header].type != fields_.layout().headers[all[0]].type)
            fail(scope.where, "headers of different types");
    index = builder.finish(named.dynamic ? named.index : builder.constant(0), 0, scope.where);
    return all;
}

ExpressionLoader::Element ExpressionLoader::written_element(const Json& target, const Scope& scope) {
    const Json& inner = member(target, "value", scope.where);
    ExpressionBuilder builder;
    Element out;
    Node index = 0;
    if (text_member(target, "type", scope.where) == "stack_field") {
        const FieldNames::LastField last = fields_.last_field(inner, true, scope.where);
        out.stack = last.stack;
        out.member = last.member;
        out.first = last.first;
        index = last_index(builder, last.stack);
    } else {
        const Json& operation = inner.contains("op") ? inner : member(inner, "value", scope.where);
        if (optional_text(operation, "op") != "access_field")
            unsupported(scope.where, "assignment to an expression");
        const Named owner = named_header(builder, member(operation, "left", scope.where), scope);
        if (!owner.dynamic || owner.is_union) unsupported(scope.where, "assignment to an expression");
        out.stack = owner.stack;
        out.member = owner.member;
        out.first = fields_.element_field(owner.stack, owner.member,
                                          number_member(operation, "right", scope.where), true, scope.where);
        index = owner.index;
    }
    out.index = builder.finish(index, 0, scope.where);
    return out;
}

ExpressionLoader::Node ExpressionLoader::build(ExpressionBuilder& builder, const Json& json,
                                               const Scope& scope) {
    const std::string type = text_member(json, "type", scope.where);
    const Json& value = member(json, "value", scope.where);
    if (type == "field") return builder.field(fields_.read(value, scope.where));
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

ExpressionLoader::Node ExpressionLoader::build_operation(ExpressionBuilder& builder, const Json& json,
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
            fields_.is_varbit(left["value"]) && fields_.is_varbit(right["value"])) {
            const Node same = builder.same_bits(fields_.varbit(left["value"], scope.where).slot,
                                                fields_.varbit(right["value"], scope.where).slot);
            return op == "==" ? same : builder.make(Op::kNot, same);
        }
    }
    if (op == "valid" || op == "valid_union") return build_valid(builder, json, scope);
    if (op == "access_field") return build_access(builder, json, scope);
    if (op == "last_stack_index" || op == "size_stack") {
        const Json& owner = member(member(json, "right", scope.where), "value", scope.where);
        const std::uint32_t index = fields_.stack(owner, scope.where);
        const FieldRef next{0, fields_.layout().stacks[index].next_slot, 32, false};
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
ExpressionLoader::Node ExpressionLoader::build_header_equality(ExpressionBuilder& builder, const Json& json,
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

ExpressionLoader::Node ExpressionLoader::headers_equal(ExpressionBuilder& builder, std::uint32_t left,
                                                       std::uint32_t right) {
    const Header& a = fields_.layout().headers[left];
    const Header& b = fields_.layout().headers[right];
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
            fields_.use(left, i);
            fields_.use(right, i);
            const FieldRef x{0, a.fields[i].slot, a.fields[i].width, false};
            const FieldRef y{0, b.fields[i].slot, b.fields[i].width, false};
            equal = builder.make(Op::kEq, builder.field(x), builder.field(y));
        }
        same = builder.make(Op::kBoth, same, equal);
    }
    return same;
}

bool ExpressionLoader::names_headers(const Json& operand) const {
    if (!operand.is_object()) return false;
    const std::string type = optional_text(operand, "type");
    if (type == "header" || type == "header_union") return true;
    if (type != "expression" || !operand.contains("value")) return false;
    const Json& value = operand["value"];
    const std::string op = optional_text(value, "op");
    if (op.empty()) return names_headers(value);
    return op == "dereference_header_stack" || op == "dereference_union_stack" || op == "access_union_header";
}

// What an expression that names a header names; its members where it names a union.
ExpressionLoader::Named ExpressionLoader::named_header(ExpressionBuilder& builder, const Json& json,
                                                       const Scope& scope) {
    const std::string type = text_member(json, "type", scope.where);
    const Json& value = member(json, "value", scope.where);
    Named out;
    if (type == "header") {
        out.headers = {fields_.header(value, scope.where)};
        return out;
    }
    if (type == "header_union") {
        out.is_union = true;
        out.headers = fields_.layout().unions[fields_.header_union(value, scope.where)].headers;
        return out;
    }
    if (type != "expression") unsupported(scope.where, "'" + type + "' where a header is expected");
    if (!value.contains("op")) return named_header(builder, value, scope);
    const std::string op = text_member(value, "op", scope.where);
    if (op == "access_union_header") {
        out = named_header(builder, member(value, "left", scope.where), scope);
        const auto which = number_member(value, "right", scope.where);
        if (!out.is_union || which >= out.headers.size()) fail(scope.where, "no such header in a union");
        out.is_union = false;
        out.member = which;
        out.headers = {out.headers[which]};
        return out;
    }
    if (op != "dereference_header_stack" && op != "dereference_union_stack")
        unsupported(scope.where, "operator '" + op + "' where a header is expected");
    const Json& owner = member(value, "left", scope.where);
    out.stack = fields_.stack(member(owner, "value", scope.where), scope.where);
    out.dynamic = true;
    const HeaderStack& of = fields_.layout().stacks[out.stack];
    out.is_union = of.of_unions;
    out.headers.assign(of.headers.begin(), of.headers.begin() + of.members);
    out.index = build(builder, member(value, "right", scope.where), scope);
    return out;
}

ExpressionLoader::Node ExpressionLoader::build_access(ExpressionBuilder& builder, const Json& json,
                                                      const Scope& scope) {
    const Named owner = named_header(builder, member(json, "left", scope.where), scope);
    const std::uint32_t field = number_member(json, "right", scope.where);
    if (owner.is_union) fail(scope.where, "a field of a union");
    if (owner.dynamic) {
        const FieldRef first = fields_.element_field(owner.stack, owner.member, field, false, scope.where);
        const HeaderStack& of = fields_.layout().stacks[owner.stack];
        return builder.element(first, owner.index, of.stride, of.size);
    }
    const Header& header = fields_.layout().headers[owner.headers[0]];
    if (field >= header.fields.size()) fail(scope.where, "no such field in header '" + header.name + "'");
    return builder.field(fields_.read(Json::array({header.name, header.fields[field].name}), scope.where));
}

ExpressionLoader::Node ExpressionLoader::build_valid(ExpressionBuilder& builder, const Json& json,
                                                     const Scope& scope) {
    const Named owner = named_header(builder, member(json, "right", scope.where), scope);
    Node any = builder.constant(0);
    for (const std::uint32_t index : owner.headers) {
        const FieldRef valid{0, fields_.layout().headers[index].valid_slot, 1, false};
        Node one = builder.field(valid);
        if (owner.dynamic) {
            const HeaderStack& of = fields_.layout().stacks[owner.stack];
            one = builder.element(valid, owner.index, of.members, of.size);
        }
        any = owner.headers.size() == 1 ? one : builder.make(Op::kEither, any, one);
    }
    return any;
}

ExpressionLoader::Node ExpressionLoader::build_last_field(ExpressionBuilder& builder, const Json& path,
                                                          const std::string& where) {
    const auto [index, member, first] = fields_.last_field(path, false, where);
    const HeaderStack& of = fields_.layout().stacks[index];
    return builder.element(first, last_index(builder, index), of.stride, of.size);
}

// The element that was filled last; its index is beyond the end while there is none.
ExpressionLoader::Node ExpressionLoader::last_index(ExpressionBuilder& builder, std::uint32_t index) const {
    const FieldRef next{0, fields_.layout().stacks[index].next_slot, 32, false};
    return builder.make(Op::kSub, builder.field(next), builder.constant(1));
}

}  // namespace csaud::sw
