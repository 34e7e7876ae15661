// A calculation packs fields into bytes, bit after bit, and hashes them. Checksums and selectors are
// calculations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "csaud_switch/fabric/packet.hpp"
#include "csaud_switch/program/expression.hpp"
#include "csaud_switch/program/hash.hpp"
#include "csaud_switch/program/layout.hpp"

namespace csaud::sw {

struct CalculationInput {
    enum class Kind : std::uint8_t { kField, kConstant, kPayload };
    Kind kind = Kind::kField;
    std::uint32_t slot = 0;           // field
    std::uint32_t valid_slot = 0;     // of its header: a field of an invalid header is left out
    bool always = false;              // metadata is never left out
    unsigned width = 0;               // bits
    std::uint64_t value[2] = {0, 0};  // constant, low word first
};

struct Calculation {
    std::string name;
    HashAlgorithm algorithm = HashAlgorithm::kCrc32;
    std::vector<CalculationInput> inputs;
    std::uint32_t bits = 0;  // of all fixed inputs together
    bool payload = false;

    std::uint64_t compute(const Packet& packet) const;
};

struct Checksum {
    std::string name;
    std::uint32_t calculation = 0;
    FieldRef target;
    std::uint32_t target_valid_slot = 0;
    bool target_metadata = false;
    bool conditional = false;
    Expression condition;
};

}  // namespace csaud::sw
