// What of a frame is looked at beside the switches: whether it is one of CSA-UD's, and its headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "csaud_host/wire/wire.hpp"

namespace csaud::sim {

inline constexpr std::size_t kEthernetBytes = 14;

using FrameBytes = std::span<const std::uint8_t>;

// Where a frame of IPv4 without options goes to.
inline std::optional<std::uint16_t> udp_port(FrameBytes frame) noexcept {
    constexpr std::size_t kAt = kEthernetBytes + wire::kIpv4Bytes + 2;
    if (frame.size() < kAt + 2) return std::nullopt;
    return static_cast<std::uint16_t>(frame[kAt] << 8 | frame[kAt + 1]);
}

// Nothing: another protocol's.
inline std::optional<wire::Type> csa_type(FrameBytes frame) noexcept {
    constexpr std::size_t kAt = kEthernetBytes + wire::kCsaOffset;
    if (frame.size() < kAt + wire::kCsaBytes) return std::nullopt;
    const unsigned word = unsigned{frame[kAt]} << 8 | frame[kAt + 1];
    if (word != (unsigned{wire::kMagic} << 4 | wire::kVersion)) return std::nullopt;
    return static_cast<wire::Type>(frame[kAt + 2]);
}

// Its headers; nothing where it cannot be read.
inline std::optional<wire::Decoded> csa_headers(FrameBytes frame, std::size_t tag_bytes = 0) noexcept {
    wire::Decoded decoded;
    if (!csa_type(frame)) return std::nullopt;
    if (wire::decode_any(std::as_bytes(frame).subspan(kEthernetBytes), decoded, tag_bytes) !=
        wire::Fault::none)
        return std::nullopt;
    return decoded;
}

// Types as the P4 program's rules have them.
enum class FrameKind : std::uint8_t { other, data, control, loss };

inline FrameKind kind_of(FrameBytes frame) noexcept {
    const auto type = csa_type(frame);
    if (!type) return FrameKind::other;
    if (*type == wire::Type::data || *type == wire::Type::parity) return FrameKind::data;
    return *type == wire::Type::loss ? FrameKind::loss : FrameKind::control;
}

}  // namespace csaud::sim
