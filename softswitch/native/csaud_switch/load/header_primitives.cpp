#include "csaud_switch/load/header_primitives.hpp"

#include "csaud_switch/load/arguments.hpp"

namespace csaud::sw {

bool HeaderPrimitives::load(const std::string& op, const Json& arguments, const Scope& scope,
                            Primitive& out) {
    if (op == "assign") {
        expect_arguments(arguments, 2, scope.where);
        assign(out, arguments[0], arguments[1], scope);
    } else if (op == "assign_header") {
        expect_arguments(arguments, 2, scope.where);
        headers(out, op, arguments, scope);
    } else if (op == "assign_VL") {
        expect_arguments(arguments, 2, scope.where);
        out.op = PrimitiveOp::kAssignVarbit;
        out.target = fields_.varbit(member(arguments[0], "value", scope.where), scope.where);
        out.index = fields_.varbit(member(arguments[1], "value", scope.where), scope.where).slot;
    } else if (op == "assign_header_stack" || op == "assign_union_stack") {
        expect_arguments(arguments, 2, scope.where);
        out.op = PrimitiveOp::kAssignStack;
        out.index = fields_.stack(member(arguments[0], "value", scope.where), scope.where);
        out.other = fields_.stack(member(arguments[1], "value", scope.where), scope.where);
        const HeaderStack& to = fields_.layout().stacks[out.index];
        const HeaderStack& from = fields_.layout().stacks[out.other];
        copied(to.headers, from.headers, scope.where);
    } else if (op == "assign_union") {
        expect_arguments(arguments, 2, scope.where);
        out.op = PrimitiveOp::kAssignUnion;
        out.index = fields_.header_union(member(arguments[0], "value", scope.where), scope.where);
        out.other = fields_.header_union(member(arguments[1], "value", scope.where), scope.where);
        copied(fields_.layout().unions[out.index].headers, fields_.layout().unions[out.other].headers,
               scope.where);
    } else if (op == "push" || op == "pop") {
        expect_arguments(arguments, 2, scope.where);
        out.op = op == "push" ? PrimitiveOp::kPush : PrimitiveOp::kPop;
        out.index = fields_.stack(member(arguments[0], "value", scope.where), scope.where);
        out.a = expressions_.load(arguments[1], 0, scope);
    } else if (op == "add_header" || op == "remove_header") {
        expect_arguments(arguments, 1, scope.where);
        headers(out, op, arguments, scope);
    } else if (op == "mark_to_drop") {
        expect_arguments(arguments, 1, scope.where);
        mark_to_drop(out, arguments, scope);
    } else {
        return false;
    }
    return true;
}

void HeaderPrimitives::assign(Primitive& out, const Json& target, const Json& value, const Scope& scope) {
    const std::string type = text_member(target, "type", scope.where);
    if (type == "stack_field" || type == "expression") {
        assign_element(out, target, value, scope);
        return;
    }
    if (type != "field") unsupported(scope.where, "assignment to a '" + type + "'");
    out.target = fields_.write(member(target, "value", scope.where), scope.where);
    out.mask = mask64(out.target.width);
    out.a = expressions_.load(value, out.target.width, scope);
    if (out.target.width > 64) {
        out.op = PrimitiveOp::kAssignWide;
    } else if (out.a.is_constant()) {
        out.op = PrimitiveOp::kAssignConstant;
    } else {
        out.op = out.a.is_slot() ? PrimitiveOp::kAssignSlot : PrimitiveOp::kAssign;
    }
}

// To a field of a stack's element that is known only when the packet is there.
void HeaderPrimitives::assign_element(Primitive& out, const Json& target, const Json& value,
                                      const Scope& scope) {
    const ExpressionLoader::Element element = expressions_.written_element(target, scope);
    out.index = element.stack;
    out.other = element.member;
    out.target = element.first;
    out.op = PrimitiveOp::kAssignElement;
    out.a = expressions_.load(value, out.target.width, scope);
    out.b = element.index;
}

// To one header or two, of which each may be that of a stack's element known only when the packet is there.
void HeaderPrimitives::headers(Primitive& out, const std::string& op, const Json& arguments,
                               const Scope& scope) {
    const bool copies = op == "assign_header";
    out.to = expressions_.headers_among(arguments[0], out.a, scope);
    if (copies) {
        out.from = expressions_.headers_among(arguments[1], out.b, scope);
        if (fields_.layout().headers[out.to[0]].type != fields_.layout().headers[out.from[0]].type)
            fail(scope.where, "headers of different types");
        use_whole(out.to, out.from);
    }
    if (out.to.size() == 1 && out.from.size() <= 1) {
        out.op = copies ? PrimitiveOp::kAssignHeader
                        : (op == "add_header" ? PrimitiveOp::kAddHeader : PrimitiveOp::kRemoveHeader);
        out.index = out.to[0];
        if (copies) out.other = out.from[0];
    } else {
        out.op = copies ? PrimitiveOp::kAssignAmong
                        : (op == "add_header" ? PrimitiveOp::kAddAmong : PrimitiveOp::kRemoveAmong);
    }
}

// What is to be dropped is what the header says that it is given: an action may have a copy of the metadata.
void HeaderPrimitives::mark_to_drop(Primitive& out, const Json& arguments, const Scope& scope) {
    out.op = PrimitiveOp::kMarkToDrop;
    const std::string name = name_of(arguments[0], "header", scope.where);
    const Header& metadata = fields_.layout().headers[fields_.header(name, scope.where)];
    out.target = fields_.write(Json::array({name, "egress_spec"}), scope.where);
    if (!metadata.find("mcast_grp")) return;
    const FieldRef group = fields_.write(Json::array({name, "mcast_grp"}), scope.where);
    out.index = group.slot;
    out.other = words_for(group.width);
}

void HeaderPrimitives::copied(const std::vector<std::uint32_t>& to, const std::vector<std::uint32_t>& from,
                              const std::string& where) {
    bool same = to.size() == from.size();
    for (std::size_t i = 0; same && i < to.size(); ++i)
        same = fields_.layout().headers[to[i]].type == fields_.layout().headers[from[i]].type;
    if (!same) fail(where, "headers of different types");
    use_whole(to, from);
}

void HeaderPrimitives::use_whole(const std::vector<std::uint32_t>& to,
                                 const std::vector<std::uint32_t>& from) {
    for (const std::uint32_t index : to) fields_.use_whole(index);
    for (const std::uint32_t index : from) fields_.use_whole(index);
}

}  // namespace csaud::sw
