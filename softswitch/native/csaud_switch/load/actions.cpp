#include "csaud_switch/load/loader.hpp"

namespace csaud::sw {

namespace {

std::string name_of(const Json& argument, const char* type, const std::string& where) {
    if (text_member(argument, "type", where) != type)
        unsupported(where, "an argument of type '" + argument["type"].get<std::string>() + "' where a " +
                               type + " is expected");
    return text_member(argument, "value", where);
}

}  // namespace

void Loader::load_actions() {
    for (const Json& json : array_member(root_, "actions", "program")) {
        Action action = load_action(json);
        action_by_id_.emplace(action.id, static_cast<std::uint32_t>(logic_->actions.size()));
        logic_->actions.push_back(std::move(action));
    }
}

Action Loader::load_action(const Json& json) {
    Action action;
    action.name = text_member(json, "name", "actions");
    const std::string where = "action '" + action.name + "'";
    action.id = number_member(json, "id", where);
    for (const Json& data : array_member(json, "runtime_data", where)) {
        ActionParameter parameter{text_member(data, "name", where), number_member(data, "bitwidth", where),
                                  action.words};
        if (parameter.width < 1 || parameter.width > kMaxFieldBits)
            unsupported(where,
                        "parameter '" + parameter.name + "' of " + std::to_string(parameter.width) + " bits");
        action.words += words_for(parameter.width);
        action.parameters.push_back(std::move(parameter));
    }
    for (const Json& primitive_json : array_member(json, "primitives", where))
        action.primitives.push_back(primitive(primitive_json, {where, &action}));
    for (const Primitive& p : action.primitives) {
        const Expression* to =
            p.op == PrimitiveOp::kJump ? &p.a : (p.op == PrimitiveOp::kJumpIfZero ? &p.b : nullptr);
        if (to != nullptr && (!to->is_constant() || to->constant() > action.primitives.size()))
            fail(where, "jump out of the action");
    }
    return action;
}

void Loader::copied(const std::vector<std::uint32_t>& to, const std::vector<std::uint32_t>& from,
                    const std::string& where) {
    bool same = to.size() == from.size();
    for (std::size_t i = 0; same && i < to.size(); ++i)
        same = logic_->layout.headers[to[i]].type == logic_->layout.headers[from[i]].type;
    if (!same) fail(where, "headers of different types");
    for (const std::uint32_t index : to) use_whole(index);
    for (const std::uint32_t index : from) use_whole(index);
}

std::uint32_t Loader::field_list(const Json& argument, const std::string& where) const {
    const auto found =
        field_lists_.find(static_cast<std::uint32_t>(parse_hex(member(argument, "value", where), where)));
    if (found == field_lists_.end()) fail(where, "no such field list");
    return found->second;
}

std::uint32_t Loader::named(const Json& argument, const char* type,
                            const std::unordered_map<std::string, std::uint32_t>& names,
                            const std::string& where) const {
    const std::string name = name_of(argument, type, where);
    const auto found = names.find(name);
    if (found == names.end()) fail(where, std::string("no ") + type + " '" + name + "'");
    return found->second;
}

void Loader::assignment(Primitive& out, const Json& target, const Json& value, const Scope& scope) {
    const std::string type = text_member(target, "type", scope.where);
    if (type == "stack_field" || type == "expression") {
        assign_element(out, target, value, scope);
        return;
    }
    if (type != "field") unsupported(scope.where, "assignment to a '" + type + "'");
    out.target = write(member(target, "value", scope.where), scope.where);
    out.mask = mask64(out.target.width);
    out.a = expression(value, out.target.width, scope);
    if (out.target.width > 64) {
        out.op = PrimitiveOp::kAssignWide;
    } else if (out.a.is_constant()) {
        out.op = PrimitiveOp::kAssignConstant;
    } else {
        out.op = out.a.is_slot() ? PrimitiveOp::kAssignSlot : PrimitiveOp::kAssign;
    }
}

// To a field of a stack's element that is known only when the packet is there.
void Loader::assign_element(Primitive& out, const Json& target, const Json& value, const Scope& scope) {
    const Json& inner = member(target, "value", scope.where);
    ExpressionBuilder builder;
    ExpressionBuilder::Node index = 0;
    if (text_member(target, "type", scope.where) == "stack_field") {
        const LastField last = last_field(inner, true, scope.where);
        out.index = last.stack;
        out.other = last.member;
        out.target = last.first;
        index = last_index(builder, last.stack);
    } else {
        const Json& operation = inner.contains("op") ? inner : member(inner, "value", scope.where);
        if (optional_text(operation, "op") != "access_field")
            unsupported(scope.where, "assignment to an expression");
        const Named owner = named_header(builder, member(operation, "left", scope.where), scope);
        if (!owner.dynamic || owner.is_union) unsupported(scope.where, "assignment to an expression");
        out.index = owner.stack;
        out.other = owner.member;
        out.target = element_field(owner.stack, owner.member, number_member(operation, "right", scope.where),
                                   true, scope.where);
        index = owner.index;
    }
    out.op = PrimitiveOp::kAssignElement;
    out.a = expression(value, out.target.width, scope);
    out.b = builder.finish(index, 0, scope.where);
}

// To one header or two, of which each may be that of a stack's element known only when the packet is there.
void Loader::header_operation(Primitive& out, const std::string& op, const Json& arguments,
                              const Scope& scope) {
    const bool copies = op == "assign_header";
    out.to = headers_among(arguments[0], out.a, scope);
    if (copies) out.from = headers_among(arguments[1], out.b, scope);
    if (copies) {
        if (logic_->layout.headers[out.to[0]].type != logic_->layout.headers[out.from[0]].type)
            fail(scope.where, "headers of different types");
        for (const std::uint32_t index : out.to) use_whole(index);
        for (const std::uint32_t index : out.from) use_whole(index);
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
void Loader::mark_to_drop(Primitive& out, const Json& arguments, const Scope& scope) {
    out.op = PrimitiveOp::kMarkToDrop;
    const std::string name = name_of(arguments[0], "header", scope.where);
    const Header& metadata = logic_->layout.headers[header(name, scope.where)];
    out.target = write(Json::array({name, "egress_spec"}), scope.where);
    if (!metadata.find("mcast_grp")) return;
    const FieldRef group = write(Json::array({name, "mcast_grp"}), scope.where);
    out.index = group.slot;
    out.other = words_for(group.width);
}

Primitive Loader::primitive(const Json& json, const Scope& action) {
    const std::string op = text_member(json, "op", action.where);
    const Scope scope{action.where + ", primitive '" + op + "'", action.action};
    const Json& arguments = array_member(json, "parameters", scope.where);
    const auto expect = [&](std::size_t count) {
        if (arguments.size() != count)
            fail(scope.where,
                 std::to_string(arguments.size()) + " arguments, expected " + std::to_string(count));
    };
    // The place that a result is written to.
    const auto result = [&](Primitive& p) {
        p.target = write(member(arguments[0], "value", scope.where), scope.where);
        p.mask = mask64(p.target.width);
        if (p.target.width > 64 && op != "register_read")
            unsupported(scope.where, "a result of more than 64 bits");
    };
    Primitive p;
    if (op == "assign") {
        expect(2);
        assignment(p, arguments[0], arguments[1], scope);
    } else if (op == "assign_header") {
        expect(2);
        header_operation(p, op, arguments, scope);
    } else if (op == "assign_VL") {
        expect(2);
        p.op = PrimitiveOp::kAssignVarbit;
        p.target = varbit(member(arguments[0], "value", scope.where), scope.where);
        p.index = varbit(member(arguments[1], "value", scope.where), scope.where).slot;
    } else if (op == "assign_header_stack" || op == "assign_union_stack") {
        expect(2);
        p.op = PrimitiveOp::kAssignStack;
        p.index = stack(member(arguments[0], "value", scope.where), scope.where);
        p.other = stack(member(arguments[1], "value", scope.where), scope.where);
        const HeaderStack& to = logic_->layout.stacks[p.index];
        const HeaderStack& from = logic_->layout.stacks[p.other];
        copied(to.headers, from.headers, scope.where);
    } else if (op == "assign_union") {
        expect(2);
        p.op = PrimitiveOp::kAssignUnion;
        p.index = header_union(member(arguments[0], "value", scope.where), scope.where);
        p.other = header_union(member(arguments[1], "value", scope.where), scope.where);
        copied(logic_->layout.unions[p.index].headers, logic_->layout.unions[p.other].headers, scope.where);
    } else if (op == "push" || op == "pop") {
        expect(2);
        p.op = op == "push" ? PrimitiveOp::kPush : PrimitiveOp::kPop;
        p.index = stack(member(arguments[0], "value", scope.where), scope.where);
        p.a = expression(arguments[1], 0, scope);
    } else if (op == "add_header" || op == "remove_header") {
        expect(1);
        header_operation(p, op, arguments, scope);
    } else if (op == "mark_to_drop") {
        expect(1);
        mark_to_drop(p, arguments, scope);
    } else if (op == "modify_field_with_hash_based_offset") {
        expect(4);
        p.op = PrimitiveOp::kHash;
        result(p);
        p.a = expression(arguments[1], 64, scope);
        p.index = named(arguments[2], "calculation", calculations_, scope.where);
        p.b = expression(arguments[3], 0, scope);
    } else if (op == "modify_field_rng_uniform") {
        expect(3);
        p.op = PrimitiveOp::kRandom;
        result(p);
        p.a = expression(arguments[1], 0, scope);
        p.b = expression(arguments[2], 0, scope);
    } else if (op == "register_read") {
        expect(3);
        p.op = PrimitiveOp::kRegisterRead;
        result(p);
        p.index = named(arguments[1], "register_array", registers_, scope.where);
        p.a = expression(arguments[2], 0, scope);
    } else if (op == "register_write") {
        expect(3);
        p.op = PrimitiveOp::kRegisterWrite;
        p.index = named(arguments[0], "register_array", registers_, scope.where);
        p.a = expression(arguments[1], 0, scope);
        p.b = expression(arguments[2], program_->registers[p.index].width, scope);
    } else if (op == "count") {
        expect(2);
        p.op = PrimitiveOp::kCount;
        p.index = named(arguments[0], "counter_array", counters_, scope.where);
        p.a = expression(arguments[1], 0, scope);
    } else if (op == "truncate") {
        expect(1);
        p.op = PrimitiveOp::kTruncate;
        p.a = expression(arguments[0], 0, scope);
    } else if (op == "exit") {
        p.op = PrimitiveOp::kExit;
    } else if (op == "assert" || op == "assume") {
        expect(1);
        p.op = PrimitiveOp::kAssert;
        p.a = expression(arguments[0], 0, scope);
        LogMessage message{action.where, {}};
        if (json.contains("source_info"))
            message.text += ", " + optional_text(json["source_info"], "source_fragment");
        p.message = std::make_shared<const LogMessage>(std::move(message));
    } else if (op == "log_msg") {
        expect(2);
        p.op = PrimitiveOp::kLog;
        LogMessage message{name_of(arguments[0], "string", scope.where), {}};
        // p4c writes {} where there are none.
        const Json& values = member(arguments[1], "value", scope.where);
        if (!values.is_object() || !values.empty())
            for (const Json& value : array_member(arguments[1], "value", scope.where))
                message.values.push_back(expression(value, 0, scope));
        p.message = std::make_shared<const LogMessage>(std::move(message));
    } else if (op == "clone_ingress_pkt_to_egress" || op == "clone_egress_pkt_to_egress") {
        expect(2);
        p.op = PrimitiveOp::kClone;
        p.a = expression(arguments[0], 0, scope);
        p.index = field_list(arguments[1], scope.where);
    } else if (op == "resubmit" || op == "recirculate") {
        expect(1);
        p.op = op == "resubmit" ? PrimitiveOp::kResubmit : PrimitiveOp::kRecirculate;
        p.index = field_list(arguments[0], scope.where);
    } else if (op == "generate_digest") {
        expect(2);
        p.op = PrimitiveOp::kDigest;
        const auto digest = digests_.find(
            static_cast<std::uint32_t>(parse_hex(member(arguments[1], "value", scope.where), scope.where)));
        if (digest == digests_.end()) fail(scope.where, "no such digest");
        p.index = digest->second;
    } else if (op == "execute_meter") {
        expect(3);
        p.op = PrimitiveOp::kMeter;
        p.index = named(arguments[0], "meter_array", meters_, scope.where);
        p.a = expression(arguments[1], 0, scope);
        p.target = write(member(arguments[2], "value", scope.where), scope.where);
    } else if (op == "_jump") {
        expect(1);
        p.op = PrimitiveOp::kJump;
        p.a = expression(arguments[0], 0, scope);
    } else if (op == "_jump_if_zero") {
        expect(2);
        p.op = PrimitiveOp::kJumpIfZero;
        p.a = expression(arguments[0], 0, scope);
        p.b = expression(arguments[1], 0, scope);
    } else if (op != "no_op") {
        unsupported(action.where, "primitive '" + op + "'");
    }
    return p;
}

}  // namespace csaud::sw
