// Primitives of actions that give fields, headers, stacks and unions another content.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "csaud_switch/load/expressions.hpp"
#include "csaud_switch/load/field_names.hpp"
#include "csaud_switch/load/json.hpp"
#include "csaud_switch/program/action.hpp"

namespace csaud::sw {

class HeaderPrimitives {
  public:
    // They stay where they are.
    HeaderPrimitives(FieldNames& fields, ExpressionLoader& expressions)
        : fields_(fields), expressions_(expressions) {}

    // False: it is none of these.
    bool load(const std::string& op, const Json& arguments, const Scope& scope, Primitive& out);

  private:
    void assign(Primitive& out, const Json& target, const Json& value, const Scope& scope);
    void assign_element(Primitive& out, const Json& target, const Json& value, const Scope& scope);
    void headers(Primitive& out, const std::string& op, const Json& arguments, const Scope& scope);
    void mark_to_drop(Primitive& out, const Json& arguments, const Scope& scope);
    // Headers of which all fields are read or written; those of two lists, one by one.
    void use_whole(const std::vector<std::uint32_t>& to, const std::vector<std::uint32_t>& from);
    void copied(const std::vector<std::uint32_t>& to, const std::vector<std::uint32_t>& from,
                const std::string& where);

    FieldNames& fields_;
    ExpressionLoader& expressions_;
};

}  // namespace csaud::sw
