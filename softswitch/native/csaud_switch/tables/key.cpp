#include "csaud_switch/tables/key.hpp"

#include "csaud_switch/base/error.hpp"

namespace csaud::sw {

void parse_value(const std::vector<std::uint8_t>& bytes, unsigned width, const std::string& what,
                 std::uint64_t* words) {
    UWide value = 0;
    for (const std::uint8_t byte : bytes) {
        if (value >> 120 != 0)
            throw InvalidArgument(what + ": value is wider than " + std::to_string(width) + " bits");
        value = value << 8 | byte;
    }
    if ((value & ~mask128(width)) != 0)
        throw InvalidArgument(what + ": value is wider than " + std::to_string(width) + " bits");
    words[0] = static_cast<std::uint64_t>(value);
    if (width > 64) words[1] = static_cast<std::uint64_t>(value >> 64);
}

std::vector<std::uint8_t> format_value(const std::uint64_t* words, unsigned width) {
    UWide value = words[0];
    if (width > 64) value |= UWide{words[1]} << 64;
    std::vector<std::uint8_t> bytes((width + 7) / 8);
    for (std::size_t i = bytes.size(); i-- > 0; value >>= 8) bytes[i] = static_cast<std::uint8_t>(value);
    return bytes;
}

}  // namespace csaud::sw
