// The hash and checksum algorithms that BMv2 names in its JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace csaud::sw {

enum class HashAlgorithm : std::uint8_t { kCrc16, kCrc32, kCrcCcitt, kCsum16, kXor16, kIdentity };

std::optional<HashAlgorithm> hash_algorithm(const std::string& name);

std::uint64_t hash_bytes(HashAlgorithm algorithm, const std::uint8_t* data, std::size_t size);

}  // namespace csaud::sw
