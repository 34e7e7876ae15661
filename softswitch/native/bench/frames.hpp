// Frames of CSA-UD, as the benchmarks send them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "csaud_switch/model/hash.hpp"

namespace csaud::sw::bench {

inline constexpr std::size_t kHeaderBytes = 14 + 20 + 8 + 12 + 8 + 32;
inline constexpr std::size_t kShortest = kHeaderBytes + 4;  // no payload, only the iCRC

struct CsaFields {
    std::uint16_t path = 0;
    std::uint16_t comm = 0;
    std::uint8_t cls = 0;    // 3 bits
    std::uint8_t asked = 0;  // 4 bits: the way to spray
};

// A DATA packet of CSA-UD from 10.0.1.1; see the protocol's wire format. `bytes` are those of the whole
// frame.
inline std::vector<std::uint8_t> data_frame(std::size_t bytes, std::uint32_t destination,
                                            const CsaFields& fields) {
    std::vector<std::uint8_t> frame(std::max(bytes, kShortest));
    const auto put16 = [&](std::size_t at, std::size_t value) {
        frame[at] = static_cast<std::uint8_t>(value >> 8);
        frame[at + 1] = static_cast<std::uint8_t>(value);
    };
    const auto put32 = [&](std::size_t at, std::uint32_t value) {
        put16(at, value >> 16);
        put16(at + 2, value & 0xFFFF);
    };
    frame[0] = frame[6] = 2;  // locally administered addresses
    frame[5] = 2;
    frame[11] = 1;
    put16(12, 0x0800);
    frame[14] = 0x45;
    put16(16, frame.size() - 14);
    frame[22] = 64;  // TTL
    frame[23] = 17;  // UDP
    put32(26, 0x0A000101);
    put32(30, destination);
    put16(24, hash_bytes(HashAlgorithm::kCsum16, &frame[14], 20));
    put16(34, 0xC000U | (fields.path & 0x3FFFU));
    put16(36, 4791);
    put16(38, frame.size() - 34);
    frame[42] = 0x64;  // UD SEND only
    frame[49] = 0x11;  // destination queue pair
    put16(62, 0xC5A1);
    frame[66] = static_cast<std::uint8_t>(fields.asked << 4 | fields.cls << 1);
    put16(70, fields.comm);
    put16(86, fields.path);
    return frame;
}

}  // namespace csaud::sw::bench
