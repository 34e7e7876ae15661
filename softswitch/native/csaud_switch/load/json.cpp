#include "csaud_switch/load/json.hpp"

#include "csaud_switch/base/error.hpp"

namespace csaud::sw {

void fail(const std::string& where, const std::string& what) {
    throw ProgramError(where + ": " + what);
}

void unsupported(const std::string& where, const std::string& construct) {
    fail(where, construct + " is not supported by the embedded switch");
}

const Json& member(const Json& object, const char* key, const std::string& where) {
    if (!object.is_object()) fail(where, "expected a JSON object");
    const auto found = object.find(key);
    if (found == object.end()) fail(where, std::string("'") + key + "' is missing");
    return *found;
}

const Json& member_or_null(const Json& object, const char* key) {
    static const Json null;
    const auto found = object.find(key);
    return found == object.end() ? null : *found;
}

const Json& array_member(const Json& object, const char* key, const std::string& where) {
    const Json& value = member(object, key, where);
    if (!value.is_array()) fail(where, std::string("'") + key + "' is not a JSON array");
    return value;
}

std::string text_member(const Json& object, const char* key, const std::string& where) {
    const Json& value = member(object, key, where);
    if (!value.is_string()) fail(where, std::string("'") + key + "' is not a string");
    return value.get<std::string>();
}

std::uint32_t number_member(const Json& object, const char* key, const std::string& where) {
    const Json& value = member(object, key, where);
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() > INT32_MAX)
        fail(where, std::string("'") + key + "' is not a number from 0 to 2^31 - 1");
    return value.get<std::uint32_t>();
}

bool flag_member(const Json& object, const char* key, bool otherwise) {
    const auto found = object.find(key);
    return found != object.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

std::string optional_text(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

namespace {

unsigned hex_digit(char c, const std::string& where) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
    fail(where, std::string("'") + c + "' in a hexadecimal number");
}

std::string hex_digits(const Json& value, bool& negative, const std::string& where) {
    if (!value.is_string()) fail(where, "expected a hexadecimal string");
    std::string text = value.get<std::string>();
    negative = !text.empty() && text[0] == '-';
    if (negative) text.erase(0, 1);
    if (text.size() > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) text.erase(0, 2);
    if (text.empty()) fail(where, "empty hexadecimal number");
    return text;
}

}  // namespace

Wide parse_hex(const Json& value, const std::string& where) {
    bool negative = false;
    UWide out = 0;
    for (const char c : hex_digits(value, negative, where)) {
        if (out >> 124 != 0) unsupported(where, "a constant of more than 128 bits");
        out = out << 4 | hex_digit(c, where);
    }
    return negative ? -static_cast<Wide>(out) : static_cast<Wide>(out);
}

std::vector<std::uint8_t> parse_hex_bytes(const Json& value, std::size_t size, const std::string& where) {
    bool negative = false;
    std::string text = hex_digits(value, negative, where);
    if (negative) fail(where, "negative number");
    while (text.size() < 2 * size) text.insert(text.begin(), '0');
    while (text.size() > 2 * size && text[0] == '0') text.erase(0, 1);
    if (text.size() != 2 * size)
        fail(where, "'" + value.get<std::string>() + "' is longer than " + std::to_string(size) + " bytes");
    std::vector<std::uint8_t> bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] =
            static_cast<std::uint8_t>(hex_digit(text[2 * i], where) << 4 | hex_digit(text[2 * i + 1], where));
    return bytes;
}

}  // namespace csaud::sw
