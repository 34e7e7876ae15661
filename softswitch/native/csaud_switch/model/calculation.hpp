// A calculation packs fields into bytes, bit after bit, and hashes them. Checksums and selectors are
// calculations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/model/hash.hpp"
#include "csaud_switch/model/layout.hpp"

namespace csaud::sw {

struct CalculationInput {
    enum class Kind : std::uint8_t { kField, kVarbit, kConstant, kPayload };
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

    // A checksum of 16-bit words over fields that are there together or not at all is a sum of the fields,
    // each shifted to its place in its word; found by prepare().
    struct Lane {
        std::uint32_t slot;
        unsigned shift;
    };
    std::vector<Lane> lanes;
    std::uint64_t lanes_constant = 0;
    std::uint32_t lanes_valid_slot = 0;
    bool lanes_always = false;

    // A field of whole bytes as it is; likewise.
    std::optional<std::uint32_t> plain_slot;

    void prepare();

    std::uint64_t compute(const Packet& packet) const {
        return plain_slot ? packet.slots[*plain_slot] : compute_hash(packet);
    }

  private:
    std::uint64_t compute_hash(const Packet& packet) const;
};

}  // namespace csaud::sw
