#include "csaud_switch/load/target_fields.hpp"

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

namespace csaud::sw {

void load_aliases(const Json& root, FieldNames& fields, Layout& layout) {
    if (!root.contains("field_aliases")) return;
    for (const Json& alias : array_member(root, "field_aliases", "program")) {
        if (!alias.is_array() || alias.size() != 2 || !alias[0].is_string())
            fail("field_aliases", "an alias is [name, [header, field]]");
        const std::string name = alias[0].get<std::string>();
        layout.aliases.emplace(name, fields.write(alias[1], "field alias '" + name + "'"));
    }
}

TargetFields find_target_fields(FieldNames& fields) {
    const auto find = [&fields](const std::string& header,
                                const std::string& name) -> std::optional<FieldRef> {
        const Layout& layout = fields.layout();
        const auto alias = layout.aliases.find(header + "." + name);
        if (alias != layout.aliases.end()) return alias->second;
        const auto found = layout.by_name.find(header);
        if (found == layout.by_name.end()) return std::nullopt;
        if (!layout.headers[found->second].find(name)) return std::nullopt;
        return fields.write(Json::array({header, name}), "standard metadata");
    };
    TargetFields t;
    t.ingress_port = find("standard_metadata", "ingress_port");
    t.egress_spec = find("standard_metadata", "egress_spec");
    t.egress_port = find("standard_metadata", "egress_port");
    t.instance_type = find("standard_metadata", "instance_type");
    t.packet_length = find("standard_metadata", "packet_length");
    t.checksum_error = find("standard_metadata", "checksum_error");
    t.parser_error = find("standard_metadata", "parser_error");
    t.ingress_timestamp = find("intrinsic_metadata", "ingress_global_timestamp");
    t.egress_timestamp = find("intrinsic_metadata", "egress_global_timestamp");
    t.mcast_grp = find("intrinsic_metadata", "mcast_grp");
    t.egress_rid = find("intrinsic_metadata", "egress_rid");
    t.priority = find("intrinsic_metadata", "priority");
    t.enq_timestamp = find("queueing_metadata", "enq_timestamp");
    t.enq_qdepth = find("queueing_metadata", "enq_qdepth");
    t.deq_timedelta = find("queueing_metadata", "deq_timedelta");
    t.deq_qdepth = find("queueing_metadata", "deq_qdepth");
    t.qid = find("queueing_metadata", "qid");
    t.queueing = t.enq_timestamp && t.enq_qdepth && t.deq_timedelta && t.deq_qdepth;
    for (const auto& [name, present] :
         std::initializer_list<std::pair<const char*, bool>>{{"ingress_port", t.ingress_port.has_value()},
                                                             {"egress_spec", t.egress_spec.has_value()},
                                                             {"egress_port", t.egress_port.has_value()},
                                                             {"instance_type", t.instance_type.has_value()},
                                                             {"packet_length", t.packet_length.has_value()}})
        if (!present) fail("program", std::string("standard_metadata.") + name + " is missing");
    return t;
}

void load_field_lists(const Json& root, FieldNames& fields, Logic& logic, Names& names) {
    if (!root.contains("field_lists")) return;
    for (const Json& json : array_member(root, "field_lists", "program")) {
        const std::uint32_t id = number_member(json, "id", "field_lists");
        const std::string where = "field list " + std::to_string(id);
        FieldList list;
        for (const Json& element : array_member(json, "elements", where)) {
            if (text_member(element, "type", where) != "field")
                unsupported(where, "an element that is not a field");
            list.fields.push_back(fields.write(member(element, "value", where), where));
        }
        names.field_lists.emplace(id, static_cast<std::uint32_t>(logic.field_lists.size()));
        logic.field_lists.push_back(std::move(list));
    }
}

}  // namespace csaud::sw
