#include "csaud_switch/load/parser.hpp"

#include <numeric>
#include <utility>

namespace csaud::sw {

namespace {

std::uint32_t error_code(const Json& root, const std::string& name, std::uint32_t otherwise) {
    if (!root.contains("errors")) return otherwise;
    for (const Json& error : array_member(root, "errors", "program"))
        if (error.is_array() && error.size() == 2 && error[0] == name && error[1].is_number_unsigned())
            return error[1].get<std::uint32_t>();
    return otherwise;
}

}  // namespace

void ParserLoader::load(const Json& root) {
    Parser& parser = logic_.parser;
    parser.no_error = error_code(root, "NoError", 0);
    parser.packet_too_short = error_code(root, "PacketTooShort", 1);
    parser.stack_out_of_bounds = error_code(root, "StackOutOfBounds", 3);
    parser.header_too_short = error_code(root, "HeaderTooShort", 4);
    parser.invalid_argument = error_code(root, "ParserInvalidArgument", 6);
    const Json& parsers = array_member(root, "parsers", "program");
    if (parsers.size() != 1)
        unsupported("program", std::to_string(parsers.size()) + " parsers instead of one");
    const Json& json = parsers[0];
    States states;
    const Json& list = array_member(json, "parse_states", "parser");
    for (const Json& state : list)
        states.emplace(text_member(state, "name", "parser"), static_cast<std::uint32_t>(states.size()));
    for (const Json& state : list) parser.states.push_back(load_state(state, states));
    const std::string start = text_member(json, "init_state", "parser");
    if (!states.contains(start)) fail("parser", "no state '" + start + "'");
    parser.start = states.at(start);
}

ParserState ParserLoader::load_state(const Json& json, const States& states) {
    ParserState state;
    state.name = text_member(json, "name", "parser");
    const std::string where = "parser state '" + state.name + "'";
    for (const Json& op : array_member(json, "parser_ops", where)) state.ops.push_back(parser_op(op, where));
    for (const Json& part_json : array_member(json, "transition_key", where)) {
        const std::string type = text_member(part_json, "type", where);
        const Json& value = member(part_json, "value", where);
        KeyPart part;
        if (type == "field") {
            const FieldRef ref = fields_.read(value, where);
            part.slot = ref.slot;
            part.width = ref.width;
        } else if (type == "stack_field" || type == "union_stack_field") {
            part.computed = true;
            part.width = fields_.last_field(value, false, where).first.width;
            part.value = expressions_.load(part_json, part.width, {where});
        } else if (type == "lookahead") {
            part.lookahead = true;
            part.bit_offset = value.at(0).get<std::uint32_t>();
            part.width = value.at(1).get<unsigned>();
        } else {
            unsupported(where, "'" + type + "' in a transition key");
        }
        if (part.width < 1 || part.width > 64) unsupported(where, "a transition key of more than 64 bits");
        state.key.push_back(part);
    }
    if (state.key.size() > 16) unsupported(where, "a transition key of more than 16 parts");
    transitions(state, json, states, where);
    return state;
}

void ParserLoader::transitions(ParserState& state, const Json& json, const States& states,
                               const std::string& where) {
    std::size_t bytes = 0;
    for (const KeyPart& part : state.key) bytes += (part.width + 7) / 8;
    const auto split = [&](const std::vector<std::uint8_t>& all) {
        std::vector<std::uint64_t> parts;
        std::size_t at = 0;
        for (const KeyPart& part : state.key) {
            std::uint64_t value = 0;
            for (std::size_t i = 0; i < (part.width + 7) / 8; ++i) value = value << 8 | all[at++];
            parts.push_back(value);
        }
        return parts;
    };
    for (const Json& transition : array_member(json, "transitions", where)) {
        const std::string type = text_member(transition, "type", where);
        const std::string next_name = optional_text(transition, "next_state");
        std::uint32_t next = kAccept;
        if (!next_name.empty()) {
            if (!states.contains(next_name)) fail(where, "no parser state '" + next_name + "'");
            next = states.at(next_name);
        }
        if (type == "default") {
            state.otherwise = next;
            continue;
        }
        Transition out;
        out.next = next;
        if (type == "parse_vset") {
            out.set = value_set(transition, state, where);
            if (const Json& mask = member(transition, "mask", where); !mask.is_null())
                out.masks = split(parse_hex_bytes(mask, bytes, where));
            state.transitions.push_back(std::move(out));
            continue;
        }
        if (type != "hexstr") unsupported(where, "a transition on '" + type + "'");
        out.values = split(parse_hex_bytes(member(transition, "value", where), bytes, where));
        const Json& mask = member(transition, "mask", where);
        for (const KeyPart& part : state.key) out.masks.push_back(mask64(part.width));
        if (!mask.is_null()) out.masks = split(parse_hex_bytes(mask, bytes, where));
        for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] &= out.masks[i];
        state.transitions.push_back(std::move(out));
    }
}

std::uint32_t ParserLoader::value_set(const Json& transition, const ParserState& state,
                                      const std::string& where) {
    const std::string name = text_member(transition, "value", where);
    const auto found = names_.value_sets.find(name);
    if (found == names_.value_sets.end()) fail(where, "no value set '" + name + "'");
    ValueSet& set = program_.value_sets[found->second];
    std::vector<unsigned> widths;
    for (const KeyPart& part : state.key) widths.push_back(part.width);
    if (std::accumulate(widths.begin(), widths.end(), 0U) != set.bits)
        fail(where, "the key has another width than value set '" + name + "'");
    if (set.used && set.widths != widths)
        unsupported(where, "a second use of value set '" + name + "' with a key of other parts");
    set.widths = std::move(widths);
    set.used = true;
    return found->second;
}

ParserOp ParserLoader::parser_op(const Json& json, const std::string& where) {
    const std::string name = text_member(json, "op", where);
    const Json& parameters = array_member(json, "parameters", where);
    ParserOp op;
    if (name == "extract" || name == "extract_VL")
        return parser_extract(parameters, name != "extract", where);
    if (name == "set") return parser_set(parameters, where);
    if (name == "verify") {
        op.kind = ParserOp::Kind::kVerify;
        op.a = expressions_.load(parameters.at(0), 0, {where});
        op.b = expressions_.load(parameters.at(1), 0, {where});
        return op;
    }
    if (name == "advance" || name == "shift") {
        op.kind = ParserOp::Kind::kAdvance;
        Json bits = parameters.at(0);
        if (name == "shift") unsupported(where, "'shift' (p4c writes 'advance')");
        op.a = expressions_.load(bits, 0, {where});
        return op;
    }
    if (name == "primitive") {
        op.kind = ParserOp::Kind::kPrimitive;
        Action action;
        action.name = where;
        action.primitives.push_back(actions_.primitive(parameters.at(0), {where}));
        op.action = static_cast<std::uint32_t>(logic_.actions.size());
        logic_.actions.push_back(std::move(action));
        return op;
    }
    unsupported(where, "parser operation '" + name + "'");
}

ParserOp ParserLoader::parser_extract(const Json& parameters, bool variable, const std::string& where) {
    ParserOp op;
    const std::string type = text_member(parameters.at(0), "type", where);
    const Json& value = member(parameters[0], "value", where);
    std::uint32_t into = 0;
    if (type == "regular") {
        op.kind = ParserOp::Kind::kExtract;
        into = op.header = fields_.header(value, where);
    } else if (type == "stack" || type == "union_stack") {
        op.kind = ParserOp::Kind::kExtractStack;
        op.stack = fields_.stack(type == "stack" ? value : value.at(0), where);
        const HeaderStack& of = fields_.layout().stacks[op.stack];
        if (of.of_unions != (type == "union_stack"))
            fail(where, "'" + of.name + "' is another kind of stack");
        if (of.of_unions) op.member = fields_.union_member(of, value.at(1), where);
        into = of.header(0, op.member);
    } else {
        unsupported(where, "extract into a " + type);
    }
    op.varbit = fields_.layout().headers[into].varbit.has_value();
    if (op.varbit != variable)
        fail(where, std::string(
                        "'extract_VL' is for headers with a field of variable length, 'extract' for others"));
    if (variable) op.a = expressions_.load(parameters.at(1), 0, {where});
    return op;
}

ParserOp ParserLoader::parser_set(const Json& parameters, const std::string& where) {
    if (parameters.size() != 2 || text_member(parameters[0], "type", where) != "field")
        unsupported(where, "'set' of something other than a field");
    ParserOp op;
    const Json& value = parameters[1];
    if (fields_.is_varbit(member(parameters[0], "value", where))) {
        op.kind = ParserOp::Kind::kSetVarbit;
        op.target = fields_.varbit(parameters[0]["value"], where);
        op.slot = fields_.varbit(member(value, "value", where), where).slot;
        return op;
    }
    op.target = fields_.write(member(parameters[0], "value", where), where);
    op.mask = mask64(op.target.width);
    if (text_member(value, "type", where) == "lookahead") {
        op.kind = ParserOp::Kind::kLookahead;
        op.bit_offset = member(value, "value", where).at(0).get<std::uint32_t>();
        op.width = member(value, "value", where).at(1).get<unsigned>();
        if (op.width < 1 || op.width > kMaxFieldBits)
            unsupported(where, "a lookahead of " + std::to_string(op.width) + " bits");
        return op;
    }
    op.kind = op.target.width > 64 ? ParserOp::Kind::kSetWide : ParserOp::Kind::kSet;
    op.a = expressions_.load(value, op.target.width, {where});
    return op;
}

}  // namespace csaud::sw
