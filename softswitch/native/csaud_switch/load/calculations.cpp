#include "csaud_switch/load/calculations.hpp"

#include <cstdint>
#include <utility>

namespace csaud::sw {

CalculationInput calculation_input(const Json& json, FieldNames& fields, const std::string& where) {
    const std::string type = text_member(json, "type", where);
    CalculationInput input;
    if (type == "field" && fields.is_varbit(member(json, "value", where))) {
        const FieldRef ref = fields.varbit(json["value"], where);
        const Header& owner = fields.layout().headers[ref.header];
        input.kind = CalculationInput::Kind::kVarbit;
        input.slot = ref.slot;
        input.width = 8 * owner.varbit_bytes;  // at most
        input.valid_slot = owner.valid_slot;
        input.always = owner.metadata;
    } else if (type == "field") {
        const FieldRef ref = fields.read(member(json, "value", where), where);
        const Header& owner = fields.layout().headers[ref.header];
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

void load_calculations(const Json& root, FieldNames& fields, Logic& logic, Names& names) {
    for (const Json& json : array_member(root, "calculations", "program")) {
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
                    fields.layout().headers[fields.header(member(input_json, "value", where), where)];
                for (const Field& field : whole.fields) {
                    const Json path = Json::array({whole.name, field.name});
                    calculation.inputs.push_back(
                        calculation_input({{"type", "field"}, {"value", path}}, fields, where));
                    calculation.bits += calculation.inputs.back().width;
                }
                continue;
            }
            const CalculationInput input = calculation_input(input_json, fields, where);
            if (input.kind == CalculationInput::Kind::kPayload) {
                calculation.payload = true;
                continue;
            }
            calculation.bits += input.width;
            calculation.inputs.push_back(input);
        }
        calculation.prepare();
        names.calculations.emplace(calculation.name, static_cast<std::uint32_t>(logic.calculations.size()));
        logic.calculations.push_back(std::move(calculation));
    }
}

}  // namespace csaud::sw
