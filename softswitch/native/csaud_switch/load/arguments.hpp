// Arguments of an action's primitives.
#pragma once

#include <cstddef>
#include <string>

#include "csaud_switch/load/json.hpp"

namespace csaud::sw {

inline void expect_arguments(const Json& arguments, std::size_t count, const std::string& where) {
    if (arguments.size() != count)
        fail(where, std::to_string(arguments.size()) + " arguments, expected " + std::to_string(count));
}

// The name of something of this type.
inline std::string name_of(const Json& argument, const char* type, const std::string& where) {
    if (text_member(argument, "type", where) != type)
        unsupported(where, "an argument of type '" + argument["type"].get<std::string>() + "' where a " +
                               type + " is expected");
    return text_member(argument, "value", where);
}

}  // namespace csaud::sw
