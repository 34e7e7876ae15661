#include "csaud_switch/load/checksums.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace csaud::sw {

void load_checksums(const Json& root, FieldNames& fields, ExpressionLoader& expressions, const Names& names,
                    Logic& logic) {
    for (const Json& json : array_member(root, "checksums", "program")) {
        Checksum checksum;
        checksum.name = text_member(json, "name", "checksums");
        const std::string where = "checksum '" + checksum.name + "'";
        if (const std::string type = text_member(json, "type", where); type != "generic")
            unsupported(where, "checksum type '" + type + "'");
        checksum.target = fields.write(member(json, "target", where), where);
        if (checksum.target.width > 64) unsupported(where, "a checksum of more than 64 bits");
        checksum.target_valid_slot = logic.layout.headers[checksum.target.header].valid_slot;
        checksum.target_metadata = logic.layout.headers[checksum.target.header].metadata;
        const std::string calculation = text_member(json, "calculation", where);
        const auto found = names.calculations.find(calculation);
        if (found == names.calculations.end()) fail(where, "no calculation '" + calculation + "'");
        checksum.calculation = found->second;
        if (json.contains("if_cond") && !json["if_cond"].is_null()) {
            checksum.conditional = true;
            checksum.condition = expressions.load(json["if_cond"], 0, {where});
        }
        const auto index = static_cast<std::uint32_t>(logic.checksums.size());
        if (flag_member(json, "verify", true)) logic.verified.push_back(index);
        if (flag_member(json, "update", true)) logic.deparser.checksums.push_back(index);
        logic.checksums.push_back(std::move(checksum));
    }
}

}  // namespace csaud::sw
