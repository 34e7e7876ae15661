// The packet format: IPv4 20 | UDP 8 | BTH 12 | DETH 8 | CSA 32 | payload or control part | pad | iCRC 4.
//
// CSA header, big-endian (byte offsets on the left):
//
//      0                   1                   2                   3
//      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   0 |     magic 0xC5A       |ver 1  |     type      |     flags     |
//   4 | spray |cls  |o|   attempt     |             epoch             |
//   8 |             comm              |             step              |
//  12 |                           coll_seq                            |
//  16 |           src_rank            |             chunk             |
//  20 |            pkt_idx            |           pkt_total           |
//  24 |            path_id            |           path_seq            |
//  28 |                             tx_ts                             |
//
// A LOSS is DATA that a switch cut. First form: to a port of its own, no iCRC, at least 80 bytes from the
// IPv4 header on. Second form: to the RoCE port, with an iCRC that the switch made, so that it completes as a
// UD receive. Whatever of the payload a switch left behind the CSA header says nothing.
//
// PARITY is followed by a linear combination of the last packets of a message: pkt_idx is its row, attempt
// how many packets it covers.
//
// Control part, which follows in every type but DATA, LOSS and PARITY:
//
//   0 |    reason     |     flags     |           ECN count           |
//   4 |                        newest tx_ts                           |
//   8 |         echoed path           |        path_seq first         |
//  12 |        path_seq count         |       rank of the sender      |
//  16 |                            credit                             |
//  20 |       cumulative index        |        bitmap length          |   length in bits: 0 or pkt_total
//  24 | bitmap: packet i is bit 0x80 >> (i % 8) of byte i / 8 ...     |
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "csaud_host/base/bitmap.hpp"
#include "csaud_host/base/byte_order.hpp"
#include "csaud_host/base/crc32.hpp"
#include "csaud_host/wire/message_name.hpp"

namespace csaud::wire {

inline constexpr std::size_t kIpv4Bytes = 20;
inline constexpr std::size_t kUdpBytes = 8;
inline constexpr std::size_t kBthBytes = 12;
inline constexpr std::size_t kDethBytes = 8;
inline constexpr std::size_t kCsaBytes = 32;
inline constexpr std::size_t kIcrcBytes = 4;
inline constexpr std::size_t kControlBytes = 24;
inline constexpr std::size_t kTagBytes = 8;
inline constexpr std::size_t kUdpOffset = kIpv4Bytes;  // in the packet
inline constexpr std::size_t kBthOffset = kUdpOffset + kUdpBytes;
inline constexpr std::size_t kDethOffset = kBthOffset + kBthBytes;
inline constexpr std::size_t kCsaOffset = kDethOffset + kDethBytes;  // 48
inline constexpr std::size_t kHeaderBytes = kCsaOffset + kCsaBytes;  // 80

inline constexpr std::uint16_t kMagic = 0xC5A;
inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::uint8_t kOpcodeUdSendOnly = 0x64;

enum class Type : std::uint8_t {
    data = 0,
    ack = 1,
    state = 2,
    loss = 3,
    credit = 4,
    probe = 5,
    probe_rsp = 6,
    path_feedback = 7,
    step_done = 8,
    abort = 9,
    parity = 10,
};

enum Flag : std::uint8_t {
    kRtx = 0x01,
    kLast = 0x02,
    kAckReq = 0x04,
    kNoTrim = 0x08,
    kBarrier = 0x10,
    kTrimmed = 0x20,
    kEcnEcho = 0x40,
    kDup = 0x80,
};

// Why a control packet was sent; the numbers are on the wire.
enum class Reason : std::uint8_t {
    none = 0,
    loss = 1,      // STATE: a switch reported the copy (pkt_idx, attempt)
    gap = 2,       // STATE: path_seq [first, first + count) of the echoed path is missing
    interval = 3,  // STATE: the adaptive interval ran out; newest tx_ts and pkt_idx (the highest) are of that
                   // long ago
    probed = 4,    // STATE: answer to a PROBE
    done = 5,      // ACK: answer to a PROBE (or to DATA) of a finished message
    not_ready = 6,    // PROBE_RSP: this message has no posted receive yet
    not_started = 7,  // PROBE_RSP: the sender has not begun this message
    sent = 8,         // PROBE_RSP: the first `cumulative index` packets were sent, none of them looks lost
    ping = 9,         // PROBE of a peer, not of a message
    pong = 10,        // PROBE_RSP to that
    peer_dead = 11,   // ABORT: src_rank was silent
    user_abort = 12,  // ABORT: src_rank gave up
    gone = 13,        // PROBE_RSP: an ACK has ended this message at its sender
};

// Longest text that one rank tells another one: in an ABORT why it gave up, in a PROBE of a peer what it is
// at. It stands where a STATE has its bitmap.
inline constexpr std::size_t kMaxNoteBytes = 200;
constexpr bool may_have_note(Type t, Reason r) noexcept {
    return t == Type::abort || (t == Type::probe && r == Reason::ping);
}

enum ControlFlag : std::uint8_t {
    kSeen = 0x01,  // newest tx_ts holds one
    kEcho = 0x02,  // it was taken from the packet that caused this one: the difference to now is a round trip
    kAwaited = 0x04,  // STATE: the message's receive is posted
    kWindow = 0x10,   // where a gap would be stands the window
    kOfPath = 0x08,   // PROBE of the path that it takes; its answer names it as the echoed path
};

struct CsaHeader {
    Type type = Type::data;
    std::uint8_t flags = 0;
    std::uint8_t spray = 0;
    std::uint8_t cls = 0;
    bool ordered = false;
    std::uint8_t attempt = 0;
    MessageName name;
    std::uint16_t pkt_idx = 0;
    std::uint16_t pkt_total = 0;
    // As on the wire, read backwards.
    std::uint32_t tx_ts = 0;
    std::uint16_t path_seq = 0;
    std::uint16_t path_id = 0;
};

// path_seq [first, first + count) of a path are missing.
struct PathGap {
    std::uint16_t first = 0;
    std::uint16_t count = 0;  // 0: no gap
};

// What a receiver tells of a sender's window.
struct WindowNews {
    std::uint16_t arrived = 0;  // first copies of this sender so far, modulo 2^16
    std::uint16_t size = 0;     // packets
};

struct ControlPart {
    Reason reason = Reason::none;
    std::uint8_t flags = 0;
    std::uint16_t ecn_count = 0;
    std::uint32_t newest_tx_ts = 0;
    std::uint16_t echoed_path = 0;
    PathGap gap;        // without the flag kWindow
    WindowNews window;  // with it
    std::uint16_t from_rank = 0;
    std::uint32_t credit = 0;
    std::uint16_t cumulative = 0;
    std::uint16_t bitmap_bits = 0;
};

// Where a packet comes from and goes to.
struct Route {
    std::uint32_t src_ipv4 = 0, dst_ipv4 = 0;  // host byte order
    std::uint32_t src_qpn = 0, dst_qpn = 0;
    std::uint32_t qkey = 0;
    std::uint16_t src_port = 0, dst_port = 4791;
    std::uint16_t ip_id = 0;
    std::uint8_t tos = 0, ttl = 64;
    std::uint32_t psn = 0;
    bool icrc = true;  // false: a LOSS of the first form

    // The two low bits of TOS (RFC 3168).
    std::uint8_t ecn() const noexcept { return tos & 3; }
};

// What IPv4 and UDP headers have besides addresses and lengths follows from what lies behind them, so that it
// need not be sent where a receiver would not see it: plain ECMP spreads by the source port, and an id says
// nothing in packets that must not be fragmented (RFC 6864), but raw sockets fill in one that is 0.
constexpr std::uint16_t source_port(std::uint16_t path_id) noexcept {
    return static_cast<std::uint16_t>(0xC000 | (path_id & 0x3FFF));
}
constexpr std::uint16_t ip_id(std::uint32_t psn) noexcept {
    const auto id = static_cast<std::uint16_t>(psn);
    return id == 0 ? std::uint16_t{1} : id;
}

// ECN codepoints.
inline constexpr std::uint8_t kEct0 = 2;
inline constexpr std::uint8_t kCongestionExperienced = 3;

enum class Fault : std::uint8_t { none, length, icrc, magic, qkey, qpn };

// A packet taken apart. The spans point into the packet.
struct Decoded {
    CsaHeader csa;
    Route route;
    bool on_loss_port = false;
    std::span<const std::byte> payload;  // DATA and PARITY; what is left of it in a LOSS is not shown
    ControlPart control;                 // types with a control part only
    std::span<const std::byte> bitmap;   // its bitmap
    std::span<const std::byte> headers;  // what a tag covers of it, payload aside
    const std::byte* tag = nullptr;      // kTagBytes; nullptr: packets are not authenticated
};

// What a receiver insists on before it looks at the CSA header.
struct Expect {
    std::uint32_t qpn = 0;
    std::uint32_t qkey = 0;
    std::uint16_t roce_port = 4791;
    std::uint16_t loss_port = 49791;
    bool verify_icrc = true;
    std::size_t tag_bytes = 0;  // 0: packets are not authenticated
};

constexpr bool has_control_part(Type t) noexcept {
    return t != Type::data && t != Type::loss && t != Type::parity;
}

// Checks, in this order: lengths, iCRC (not on the loss port), queue pair, key, then opcode, magic, version
// and type. All of Decoded is of this packet then, but for a control part that its type has not.
Fault decode(std::span<const std::byte> ipv4_packet, const Expect&, Decoded&) noexcept;

// The same without the checks of queue pair, key and iCRC: for tests and traces.
Fault decode_any(std::span<const std::byte> ipv4_packet, Decoded&, std::size_t tag_bytes = 0) noexcept;

// Parts of headers, whatever they say: of the byte at 4 of the CSA header, of that header, of the packet.
inline std::uint8_t spray_of(std::uint8_t mode) noexcept {
    return mode >> 4;
}
inline std::uint8_t class_of(std::uint8_t mode) noexcept {
    return (mode >> 1) & 7;
}
inline bool ordered_of(std::uint8_t mode) noexcept {
    return (mode & 1) != 0;
}
inline void decode_name(const std::byte* csa, MessageName& name) noexcept {
    name.epoch = get16(csa + 6);
    const std::uint64_t first = get64(csa + 8);
    name.comm = static_cast<std::uint16_t>(first >> 48);
    name.step = static_cast<std::uint16_t>(first >> 32);
    name.coll_seq = static_cast<std::uint32_t>(first);
    name.src_rank = get16(csa + 16);
    name.chunk = get16(csa + 18);
}
inline std::size_t pad_of(const std::byte* packet) noexcept {
    return (get8(packet + kBthOffset + 1) >> 4) & 3;
}

// Of a packet with room for headers, as it says.
inline Type type_of(std::span<const std::byte> packet) noexcept {
    return static_cast<Type>(packet[kCsaOffset + 2]);
}

// What switches and routers may change counts as ones in the iCRC: TOS, TTL, both checksums, resv8a of BTH.
inline constexpr Ones kVariant = [] {
    Ones ones;
    for (const std::size_t at : {std::size_t{1}, std::size_t{8}, std::size_t{10}, std::size_t{11},
                                 kUdpOffset + 6, kUdpOffset + 7, kBthOffset + 4})
        ones.bytes[at] = std::byte{0xFF};
    return ones;
}();
// So do the 8 bytes in place of InfiniBand's LRH, with which it begins: crc32 of eight 0xFF.
inline constexpr std::uint32_t kCrcOfLrh = 0x2144DF1C;

// Does the iCRC behind a whole packet, of kHeaderBytes and an iCRC at least, fit to it?
inline bool intact(std::span<const std::byte> packet) noexcept {
    const std::size_t covered = packet.size() - kIcrcBytes;
    return masked_crc32(kCrcOfLrh, packet.first(covered), kVariant) == get32le(packet.data() + covered);
}

// Writes IPv4..CSA (80 bytes) for a packet with `body` bytes after the CSA header (payload or control part,
// tag); returns the number of pad bytes (0..3; none where no iCRC follows). `out` has room for kHeaderBytes.
std::size_t encode_headers(std::span<std::byte> out, const Route&, const CsaHeader&,
                           std::size_t body) noexcept;

// Writes the 24 bytes of the control part.
void encode_control(std::span<std::byte> out, const ControlPart&) noexcept;

// Invariant CRC over head + payload + pad zero bytes of `pad`, as it goes on the wire (4 bytes,
// little-endian).
std::array<std::byte, 4> icrc(std::span<const std::byte> head, std::span<const std::byte> payload,
                              std::size_t pad) noexcept;
// The same with a tag between payload and pad; `tail` is both.
std::array<std::byte, 4> icrc(std::span<const std::byte> head, std::span<const std::byte> payload,
                              std::span<const std::byte> tail) noexcept;

}  // namespace csaud::wire
