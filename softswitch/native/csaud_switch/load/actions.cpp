#include "csaud_switch/load/actions.hpp"

#include <memory>
#include <utility>

#include "csaud_switch/load/arguments.hpp"

namespace csaud::sw {

namespace {

std::uint32_t named(const Json& argument, const char* type, const Names::ByName& names,
                    const std::string& where) {
    const std::string name = name_of(argument, type, where);
    const auto found = names.find(name);
    if (found == names.end()) fail(where, std::string("no ") + type + " '" + name + "'");
    return found->second;
}

}  // namespace

void ActionLoader::load(const Json& root) {
    for (const Json& json : array_member(root, "actions", "program")) {
        Action action = load_action(json);
        names_.actions.emplace(action.id, static_cast<std::uint32_t>(logic_.actions.size()));
        logic_.actions.push_back(std::move(action));
    }
}

Action ActionLoader::load_action(const Json& json) {
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

Primitive ActionLoader::primitive(const Json& json, const Scope& action) {
    const std::string op = text_member(json, "op", action.where);
    const Scope scope{action.where + ", primitive '" + op + "'", action.action};
    const Json& arguments = array_member(json, "parameters", scope.where);
    // The place that a result is written to.
    const auto result = [&](Primitive& p) {
        p.target = fields_.write(member(arguments[0], "value", scope.where), scope.where);
        p.mask = mask64(p.target.width);
        if (p.target.width > 64 && op != "register_read")
            unsupported(scope.where, "a result of more than 64 bits");
    };
    Primitive p;
    if (headers_.load(op, arguments, scope, p)) return p;
    if (op == "modify_field_with_hash_based_offset") {
        expect_arguments(arguments, 4, scope.where);
        p.op = PrimitiveOp::kHash;
        result(p);
        p.a = expressions_.load(arguments[1], 64, scope);
        p.index = named(arguments[2], "calculation", names_.calculations, scope.where);
        p.b = expressions_.load(arguments[3], 0, scope);
    } else if (op == "modify_field_rng_uniform") {
        expect_arguments(arguments, 3, scope.where);
        p.op = PrimitiveOp::kRandom;
        result(p);
        p.a = expressions_.load(arguments[1], 0, scope);
        p.b = expressions_.load(arguments[2], 0, scope);
    } else if (op == "register_read") {
        expect_arguments(arguments, 3, scope.where);
        p.op = PrimitiveOp::kRegisterRead;
        result(p);
        p.index = named(arguments[1], "register_array", names_.registers, scope.where);
        p.a = expressions_.load(arguments[2], 0, scope);
    } else if (op == "register_write") {
        expect_arguments(arguments, 3, scope.where);
        p.op = PrimitiveOp::kRegisterWrite;
        p.index = named(arguments[0], "register_array", names_.registers, scope.where);
        p.a = expressions_.load(arguments[1], 0, scope);
        p.b = expressions_.load(arguments[2], program_.registers[p.index].width, scope);
    } else if (op == "count") {
        expect_arguments(arguments, 2, scope.where);
        p.op = PrimitiveOp::kCount;
        p.index = named(arguments[0], "counter_array", names_.counters, scope.where);
        p.a = expressions_.load(arguments[1], 0, scope);
    } else if (op == "truncate") {
        expect_arguments(arguments, 1, scope.where);
        p.op = PrimitiveOp::kTruncate;
        p.a = expressions_.load(arguments[0], 0, scope);
    } else if (op == "exit") {
        p.op = PrimitiveOp::kExit;
    } else if (op == "assert" || op == "assume") {
        expect_arguments(arguments, 1, scope.where);
        p.op = PrimitiveOp::kAssert;
        p.a = expressions_.load(arguments[0], 0, scope);
        LogMessage message{action.where, {}};
        if (json.contains("source_info"))
            message.text += ", " + optional_text(json["source_info"], "source_fragment");
        p.message = std::make_shared<const LogMessage>(std::move(message));
    } else if (op == "log_msg") {
        expect_arguments(arguments, 2, scope.where);
        p.op = PrimitiveOp::kLog;
        LogMessage message{name_of(arguments[0], "string", scope.where), {}};
        // p4c writes {} where there are none.
        const Json& values = member(arguments[1], "value", scope.where);
        if (!values.is_object() || !values.empty())
            for (const Json& value : array_member(arguments[1], "value", scope.where))
                message.values.push_back(expressions_.load(value, 0, scope));
        p.message = std::make_shared<const LogMessage>(std::move(message));
    } else if (op == "clone_ingress_pkt_to_egress" || op == "clone_egress_pkt_to_egress") {
        expect_arguments(arguments, 2, scope.where);
        p.op = PrimitiveOp::kClone;
        p.a = expressions_.load(arguments[0], 0, scope);
        p.index = field_list(arguments[1], scope.where);
    } else if (op == "resubmit" || op == "recirculate") {
        expect_arguments(arguments, 1, scope.where);
        p.op = op == "resubmit" ? PrimitiveOp::kResubmit : PrimitiveOp::kRecirculate;
        p.index = field_list(arguments[0], scope.where);
    } else if (op == "generate_digest") {
        expect_arguments(arguments, 2, scope.where);
        p.op = PrimitiveOp::kDigest;
        const auto digest = names_.digests.find(
            static_cast<std::uint32_t>(parse_hex(member(arguments[1], "value", scope.where), scope.where)));
        if (digest == names_.digests.end()) fail(scope.where, "no such digest");
        p.index = digest->second;
    } else if (op == "execute_meter") {
        expect_arguments(arguments, 3, scope.where);
        p.op = PrimitiveOp::kMeter;
        p.index = named(arguments[0], "meter_array", names_.meters, scope.where);
        p.a = expressions_.load(arguments[1], 0, scope);
        p.target = fields_.write(member(arguments[2], "value", scope.where), scope.where);
    } else if (op == "_jump") {
        expect_arguments(arguments, 1, scope.where);
        p.op = PrimitiveOp::kJump;
        p.a = expressions_.load(arguments[0], 0, scope);
    } else if (op == "_jump_if_zero") {
        expect_arguments(arguments, 2, scope.where);
        p.op = PrimitiveOp::kJumpIfZero;
        p.a = expressions_.load(arguments[0], 0, scope);
        p.b = expressions_.load(arguments[1], 0, scope);
    } else if (op != "no_op") {
        unsupported(action.where, "primitive '" + op + "'");
    }
    return p;
}

std::uint32_t ActionLoader::field_list(const Json& argument, const std::string& where) const {
    const auto found = names_.field_lists.find(
        static_cast<std::uint32_t>(parse_hex(member(argument, "value", where), where)));
    if (found == names_.field_lists.end()) fail(where, "no such field list");
    return found->second;
}

}  // namespace csaud::sw
