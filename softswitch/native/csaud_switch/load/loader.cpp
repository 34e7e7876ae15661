#include "csaud_switch/load/loader.hpp"

#include "csaud_switch/base/error.hpp"

namespace csaud::sw {

std::unique_ptr<Program> load_program(const std::string& bmv2_json) {
    try {
        const Json root = Json::parse(bmv2_json);
        return Loader(root).load();
    } catch (const Json::exception& error) {
        throw ProgramError(std::string("not a JSON program for BMv2: ") + error.what());
    }
}

std::unique_ptr<Program> Loader::load() {
    if (!root_.is_object()) fail("program", "expected a JSON object");
    refuse_what_is_not_supported();
    load_headers();
    load_aliases();
    find_target_fields();
    load_field_lists();
    load_state();
    load_meters();
    load_value_sets();
    load_digests();
    load_calculations();
    load_actions();
    load_parser();
    load_pipelines();
    load_checksums();
    load_deparser();
    finish_headers();
    program_->logic = std::move(logic_);
    return std::move(program_);
}

void Loader::refuse_what_is_not_supported() const {
    for (const auto& [key, what] :
         std::initializer_list<std::pair<const char*, const char*>>{{"extern_instances", "extern"}}) {
        const auto found = root_.find(key);
        if (found == root_.end() || !found->is_array() || found->empty()) continue;
        const std::string name = optional_text((*found)[0], "name");
        unsupported("program", std::string(what) + " '" + name + "'");
    }
}

CalculationInput Loader::calculation_input(const Json& json, const std::string& where) {
    const std::string type = text_member(json, "type", where);
    CalculationInput input;
    if (type == "field" && is_varbit(member(json, "value", where))) {
        const FieldRef ref = varbit(json["value"], where);
        const Header& owner = logic_->layout.headers[ref.header];
        input.kind = CalculationInput::Kind::kVarbit;
        input.slot = ref.slot;
        input.width = 8 * owner.varbit_bytes;  // at most
        input.valid_slot = owner.valid_slot;
        input.always = owner.metadata;
    } else if (type == "field") {
        const FieldRef ref = read(member(json, "value", where), where);
        const Header& owner = logic_->layout.headers[ref.header];
        input.slot = ref.slot;
        input.width = ref.width;
        input.valid_slot = owner.valid_slot;
        input.always = owner.metadata;
    } else if (type == "hexstr") {
        input.kind = CalculationInput::Kind::kConstant;
        input.width = number_member(json, "bitwidth", where);
        if (input.width < 1 || input.width > kMaxFieldBits)
            unsupported(where, "a constant of more than 128 bits");
        const auto value = static_cast<UWide>(parse_hex(member(json, "value", where), where));
        input.value[0] = static_cast<std::uint64_t>(value);
        input.value[1] = static_cast<std::uint64_t>(value >> 64);
        if (input.width < 64) input.value[0] &= mask64(input.width);
    } else if (type == "payload") {
        input.kind = CalculationInput::Kind::kPayload;
    } else {
        unsupported(where, "'" + type + "' as input of a calculation");
    }
    return input;
}

void Loader::load_calculations() {
    for (const Json& json : array_member(root_, "calculations", "program")) {
        Calculation calculation;
        calculation.name = text_member(json, "name", "calculations");
        const std::string where = "calculation '" + calculation.name + "'";
        const std::string algorithm = text_member(json, "algo", where);
        const auto known = hash_algorithm(algorithm);
        if (!known) unsupported(where, "hash algorithm '" + algorithm + "'");
        calculation.algorithm = *known;
        for (const Json& input_json : array_member(json, "input", where)) {
            // A whole header is all of its fields.
            if (optional_text(input_json, "type") == "header") {
                const Header& whole =
                    logic_->layout.headers[header(member(input_json, "value", where), where)];
                for (const Field& field : whole.fields) {
                    const Json path = Json::array({whole.name, field.name});
                    calculation.inputs.push_back(
                        calculation_input({{"type", "field"}, {"value", path}}, where));
                    calculation.bits += calculation.inputs.back().width;
                }
                continue;
            }
            const CalculationInput input = calculation_input(input_json, where);
            if (input.kind == CalculationInput::Kind::kPayload) {
                calculation.payload = true;
                continue;
            }
            calculation.bits += input.width;
            calculation.inputs.push_back(input);
        }
        calculation.prepare();
        calculations_.emplace(calculation.name, static_cast<std::uint32_t>(logic_->calculations.size()));
        logic_->calculations.push_back(std::move(calculation));
    }
}

void Loader::load_checksums() {
    for (const Json& json : array_member(root_, "checksums", "program")) {
        Checksum checksum;
        checksum.name = text_member(json, "name", "checksums");
        const std::string where = "checksum '" + checksum.name + "'";
        if (const std::string type = text_member(json, "type", where); type != "generic")
            unsupported(where, "checksum type '" + type + "'");
        checksum.target = write(member(json, "target", where), where);
        if (checksum.target.width > 64) unsupported(where, "a checksum of more than 64 bits");
        checksum.target_valid_slot = logic_->layout.headers[checksum.target.header].valid_slot;
        checksum.target_metadata = logic_->layout.headers[checksum.target.header].metadata;
        const std::string calculation = text_member(json, "calculation", where);
        const auto found = calculations_.find(calculation);
        if (found == calculations_.end()) fail(where, "no calculation '" + calculation + "'");
        checksum.calculation = found->second;
        if (json.contains("if_cond") && !json["if_cond"].is_null()) {
            checksum.conditional = true;
            checksum.condition = expression(json["if_cond"], 0, {where});
        }
        const auto index = static_cast<std::uint32_t>(logic_->checksums.size());
        if (flag_member(json, "verify", true)) logic_->verified.push_back(index);
        if (flag_member(json, "update", true)) logic_->deparser.checksums.push_back(index);
        logic_->checksums.push_back(std::move(checksum));
    }
}

void Loader::load_deparser() {
    const Json& deparsers = array_member(root_, "deparsers", "program");
    if (deparsers.size() != 1)
        unsupported("program", std::to_string(deparsers.size()) + " deparsers instead of one");
    if (deparsers[0].contains("primitives") && !deparsers[0]["primitives"].empty())
        unsupported("deparser", "a primitive");
    std::uint32_t bytes = 0;
    for (const Json& name : array_member(deparsers[0], "order", "deparser")) {
        logic_->deparser.order.push_back(header(name, "deparser"));
        const Header& last = logic_->layout.headers[logic_->deparser.order.back()];
        bytes += last.bytes + last.varbit_bytes;
    }
    if (bytes > kMaxHeaderBytes)
        unsupported("deparser", std::to_string(bytes) + " bytes of headers (at most " +
                                    std::to_string(kMaxHeaderBytes) + ")");
    logic_->layout.header_bytes = bytes;
}

}  // namespace csaud::sw
