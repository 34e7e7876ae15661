#include "csaud_switch/model/hash.hpp"

#include <algorithm>
#include <array>

namespace csaud::sw {

namespace {

// Reflected CRC: the polynomial's bits are given in reversed order.
template <typename Word>
constexpr std::array<Word, 256> reflected_table(Word polynomial) {
    std::array<Word, 256> table{};
    for (unsigned i = 0; i < 256; ++i) {
        auto crc = static_cast<Word>(i);
        for (int bit = 0; bit < 8; ++bit)
            crc = static_cast<Word>((crc & 1U) != 0 ? (crc >> 1) ^ polynomial : crc >> 1);
        table[i] = crc;
    }
    return table;
}

constexpr auto kCrc32Table = reflected_table<std::uint32_t>(0xEDB88320U);  // IEEE 802.3

// kCrc32Ahead[n]: of a byte that n zero bytes follow, so that eight bytes can be taken at once.
constexpr auto kCrc32Ahead = [] {
    std::array<std::array<std::uint32_t, 256>, 8> ahead{};
    ahead[0] = kCrc32Table;
    for (std::size_t n = 1; n < 8; ++n)
        for (std::size_t i = 0; i < 256; ++i)
            ahead[n][i] = kCrc32Table[ahead[n - 1][i] & 0xFF] ^ (ahead[n - 1][i] >> 8);
    return ahead;
}();
constexpr auto kCrc16Table = reflected_table<std::uint16_t>(0xA001U);  // CRC-16/ARC

constexpr std::array<std::uint16_t, 256> ccitt_table() {
    std::array<std::uint16_t, 256> table{};
    for (unsigned i = 0; i < 256; ++i) {
        auto crc = static_cast<std::uint16_t>(i << 8);
        for (int bit = 0; bit < 8; ++bit)
            crc = static_cast<std::uint16_t>((crc & 0x8000U) != 0 ? (crc << 1) ^ 0x1021 : crc << 1);
        table[i] = crc;
    }
    return table;
}

constexpr auto kCcittTable = ccitt_table();

std::uint32_t crc32(const std::uint8_t* data, std::size_t size) {
    std::uint32_t crc = 0xFFFFFFFFU;
    for (; size >= 8; size -= 8, data += 8) {
        crc ^= static_cast<std::uint32_t>(data[0] | data[1] << 8 | data[2] << 16) |
               static_cast<std::uint32_t>(data[3]) << 24;
        crc = kCrc32Ahead[7][crc & 0xFF] ^ kCrc32Ahead[6][crc >> 8 & 0xFF] ^
              kCrc32Ahead[5][crc >> 16 & 0xFF] ^ kCrc32Ahead[4][crc >> 24] ^ kCrc32Ahead[3][data[4]] ^
              kCrc32Ahead[2][data[5]] ^ kCrc32Ahead[1][data[6]] ^ kCrc32Ahead[0][data[7]];
    }
    for (std::size_t i = 0; i < size; ++i) crc = kCrc32Table[(crc ^ data[i]) & 0xFF] ^ (crc >> 8);
    return ~crc;
}

std::uint16_t crc16(const std::uint8_t* data, std::size_t size) {
    std::uint16_t crc = 0;
    for (std::size_t i = 0; i < size; ++i)
        crc = static_cast<std::uint16_t>(kCrc16Table[(crc ^ data[i]) & 0xFF] ^ (crc >> 8));
    return crc;
}

std::uint16_t crc_ccitt(const std::uint8_t* data, std::size_t size) {
    std::uint16_t crc = 0xFFFF;
    for (std::size_t i = 0; i < size; ++i)
        crc = static_cast<std::uint16_t>(kCcittTable[((crc >> 8) ^ data[i]) & 0xFF] ^ (crc << 8));
    return crc;
}

// 16-bit big-endian words; a last odd byte is the high half of one.
template <typename Fold>
std::uint64_t over_words(const std::uint8_t* data, std::size_t size, Fold fold) {
    std::uint64_t state = 0;
    std::size_t i = 0;
    for (; i + 1 < size; i += 2) state = fold(state, static_cast<std::uint64_t>(data[i] << 8 | data[i + 1]));
    if (i < size) state = fold(state, static_cast<std::uint64_t>(data[i] << 8));
    return state;
}

std::uint16_t csum16(const std::uint8_t* data, std::size_t size) {
    std::uint64_t sum = over_words(data, size, [](std::uint64_t a, std::uint64_t b) { return a + b; });
    while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

std::uint64_t identity(const std::uint8_t* data, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(size, 8); ++i) value = value << 8 | data[i];
    return value;
}

}  // namespace

std::optional<HashAlgorithm> hash_algorithm(const std::string& name) {
    // The custom ones have the parameters that the reference gives them until its command line changes them.
    if (name == "crc16" || name == "crc16_custom") return HashAlgorithm::kCrc16;
    if (name == "crc32" || name == "crc32_custom") return HashAlgorithm::kCrc32;
    if (name == "crcCCITT") return HashAlgorithm::kCrcCcitt;
    if (name == "csum16" || name == "cksum16") return HashAlgorithm::kCsum16;
    if (name == "xor16") return HashAlgorithm::kXor16;
    if (name == "identity") return HashAlgorithm::kIdentity;
    return std::nullopt;
}

std::uint64_t hash_bytes(HashAlgorithm algorithm, const std::uint8_t* data, std::size_t size) {
    switch (algorithm) {
        case HashAlgorithm::kCrc16:
            return crc16(data, size);
        case HashAlgorithm::kCrc32:
            return crc32(data, size);
        case HashAlgorithm::kCrcCcitt:
            return crc_ccitt(data, size);
        case HashAlgorithm::kCsum16:
            return csum16(data, size);
        case HashAlgorithm::kXor16:
            return over_words(data, size, [](std::uint64_t a, std::uint64_t b) { return a ^ b; });
        case HashAlgorithm::kIdentity:
            return identity(data, size);
    }
    return 0;
}

}  // namespace csaud::sw
