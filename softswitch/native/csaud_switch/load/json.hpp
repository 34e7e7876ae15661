// Reading JSON with messages that say where something is missing or of the wrong kind.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "csaud_switch/base/value.hpp"

namespace csaud::sw {

using Json = nlohmann::json;

[[noreturn]] void fail(const std::string& where, const std::string& what);
[[noreturn]] void unsupported(const std::string& where, const std::string& construct);

const Json& member(const Json& object, const char* key, const std::string& where);
const Json& array_member(const Json& object, const char* key, const std::string& where);
std::string text_member(const Json& object, const char* key, const std::string& where);
std::uint32_t number_member(const Json& object, const char* key, const std::string& where);
bool flag_member(const Json& object, const char* key, bool otherwise);
// null when it is absent
const Json& member_or_null(const Json& object, const char* key);
// The string at key; "" when it is null or absent.
std::string optional_text(const Json& object, const char* key);

// "0x1f", "-0x1", up to 128 bits.
Wide parse_hex(const Json& value, const std::string& where);
// The bytes of a hexadecimal string; exactly `size` of them.
std::vector<std::uint8_t> parse_hex_bytes(const Json& value, std::size_t size, const std::string& where);

}  // namespace csaud::sw
