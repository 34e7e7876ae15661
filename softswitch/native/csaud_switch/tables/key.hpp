// Keys of tables as words, and an index from words to things.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "csaud_switch/base/value.hpp"
#include "csaud_switch/model/layout.hpp"

namespace csaud::sw {

enum class MatchKind : std::uint8_t { kExact, kLpm, kTernary, kRange, kOptional };

struct KeyField {
    std::string name;
    MatchKind kind = MatchKind::kExact;
    FieldRef source;
    std::uint32_t word = 0;  // first word in the key
    UWide mask = ~UWide{0};  // what of the field is looked at; p4c writes `f & 0xF0: exact` this way
};

// One field of an entry's key as the control plane gives it: big-endian bytes.
struct MatchField {
    enum class Kind : std::uint8_t { kAny, kExact, kLpm, kTernary, kRange, kOptional };
    Kind kind = Kind::kAny;
    std::vector<std::uint8_t> value;
    std::vector<std::uint8_t> other;  // mask, or upper end of a range
    int prefix = 0;

    bool operator==(const MatchField&) const = default;
};

// Bytes to words and back. parse_value throws InvalidArgument when the number does not fit into the width.
void parse_value(const std::vector<std::uint8_t>& bytes, unsigned width, const std::string& what,
                 std::uint64_t* words);
std::vector<std::uint8_t> format_value(const std::uint64_t* words, unsigned width);

}  // namespace csaud::sw
