#include "csaud_host/wire/wire.hpp"

#include <algorithm>
#include <cstring>

#include "csaud_host/base/byte_order.hpp"
#include "csaud_host/base/crc32.hpp"

namespace csaud::wire {
namespace {

constexpr unsigned kProtocolUdp = 17;
constexpr unsigned kDontFragment = 0x4000;
constexpr unsigned kDefaultPkey = 0xFFFF;
constexpr std::uint8_t kLastType = static_cast<std::uint8_t>(Type::parity);

constexpr std::size_t kSmallPayload = 256;  // bytes that are copied to be read together with the headers

// RFC 1071 over the 20 bytes of an IPv4 header whose checksum field is zero.
std::uint16_t ipv4_checksum(const std::byte* h) noexcept {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < kIpv4Bytes; i += 2) sum += get16(h + i);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

void decode_csa(const std::byte* p, CsaHeader& h) noexcept {
    h.type = static_cast<Type>(get8(p + 2));
    h.flags = get8(p + 3);
    const std::uint8_t mode = get8(p + 4);
    h.spray = spray_of(mode);
    h.cls = class_of(mode);
    h.ordered = ordered_of(mode);
    h.attempt = get8(p + 5);
    decode_name(p, h.name);
    h.pkt_idx = get16(p + 20);
    h.pkt_total = get16(p + 22);
    h.path_id = get16(p + 24);
    h.path_seq = get16(p + 26);
    h.tx_ts = get32(p + 28);
}

void encode_csa(std::byte* p, const CsaHeader& h) noexcept {
    put16(p, (unsigned{kMagic} << 4) | kVersion);
    put8(p + 2, static_cast<unsigned>(h.type));
    put8(p + 3, h.flags);
    put8(p + 4, (unsigned{h.spray} << 4) | ((h.cls & 7U) << 1) | (h.ordered ? 1U : 0U));
    put8(p + 5, h.attempt);
    put16(p + 6, h.name.epoch);
    put16(p + 8, h.name.comm);
    put16(p + 10, h.name.step);
    put32(p + 12, h.name.coll_seq);
    put16(p + 16, h.name.src_rank);
    put16(p + 18, h.name.chunk);
    put16(p + 20, h.pkt_idx);
    put16(p + 22, h.pkt_total);
    put16(p + 24, h.path_id);
    put16(p + 26, h.path_seq);
    put32(p + 28, h.tx_ts);
}

void decode_control(const std::byte* p, ControlPart& c) noexcept {
    c.reason = static_cast<Reason>(get8(p));
    c.flags = get8(p + 1);
    c.ecn_count = get16(p + 2);
    c.newest_tx_ts = get32(p + 4);
    c.echoed_path = get16(p + 8);
    const bool window = (c.flags & kWindow) != 0;
    c.window = window ? WindowNews{.arrived = get16(p + 12), .size = get16(p + 10)} : WindowNews{};
    c.gap = window ? PathGap{} : PathGap{.first = get16(p + 10), .count = get16(p + 12)};
    c.from_rank = get16(p + 14);
    c.credit = get32(p + 16);
    c.cumulative = get16(p + 20);
    c.bitmap_bits = get16(p + 22);
}

// Splits a packet whose lengths hold; `end` is where the CSA header's followers end (pad and iCRC taken off).
Fault decode_body(std::span<const std::byte> packet, std::size_t end, std::size_t tag_bytes,
                  Decoded& d) noexcept {
    const std::byte* csa = packet.data() + kCsaOffset;
    if (get8(packet.data() + kBthOffset) != kOpcodeUdSendOnly) return Fault::magic;
    if (get16(csa) != ((unsigned{kMagic} << 4) | kVersion)) return Fault::magic;
    if (get8(csa + 2) > kLastType) return Fault::magic;
    decode_csa(csa, d.csa);
    if (d.on_loss_port && d.csa.type != Type::loss) return Fault::magic;
    if (d.csa.type == Type::loss) {
        d.payload = d.bitmap = d.headers = {};
        d.tag = nullptr;
        return (d.csa.flags & kTrimmed) != 0 ? Fault::none : Fault::magic;
    }
    if (end - kHeaderBytes < tag_bytes) return Fault::length;
    end -= tag_bytes;
    d.tag = tag_bytes != 0 ? packet.data() + end : nullptr;
    d.headers = packet.subspan(kCsaOffset, kCsaBytes);
    d.payload = packet.subspan(kHeaderBytes, end - kHeaderBytes);
    d.bitmap = {};
    if (!has_control_part(d.csa.type)) return Fault::none;
    d.headers = packet.subspan(kCsaOffset, end - kCsaOffset);
    if (d.payload.size() < kControlBytes) return Fault::length;
    decode_control(d.payload.data(), d.control);
    d.bitmap = d.payload.subspan(kControlBytes);
    d.payload = {};
    const std::size_t most = may_have_note(d.csa.type, d.control.reason) ? 8 * kMaxNoteBytes : kMaxPackets;
    if (d.control.bitmap_bits > most) return Fault::length;
    if (d.bitmap.size() != Bitmap::wire_bytes(d.control.bitmap_bits)) return Fault::length;
    return Fault::none;
}

Fault decode_with(std::span<const std::byte> packet, const Expect& expect, bool check, Decoded& d) noexcept {
    if (packet.size() < kHeaderBytes) return Fault::length;
    const std::byte* p = packet.data();
    const std::size_t total = get16(p + 2);
    if (get8(p) != 0x45 || get8(p + 9) != kProtocolUdp) return Fault::length;
    if (total > packet.size() || total < kHeaderBytes) return Fault::length;
    if (get16(p + kUdpOffset + 4) != total - kIpv4Bytes) return Fault::length;
    packet = packet.first(total);

    d.route.tos = get8(p + 1);
    d.route.ip_id = get16(p + 4);
    d.route.ttl = get8(p + 8);
    d.route.src_ipv4 = get32(p + 12);
    d.route.dst_ipv4 = get32(p + 16);
    d.route.src_port = get16(p + kUdpOffset);
    d.route.dst_port = get16(p + kUdpOffset + 2);
    d.route.dst_qpn = get24(p + kBthOffset + 5);
    d.route.psn = get24(p + kBthOffset + 9);
    d.route.qkey = get32(p + kDethOffset);
    d.route.src_qpn = get24(p + kDethOffset + 5);
    d.on_loss_port = d.route.dst_port == expect.loss_port;
    d.route.icrc = !d.on_loss_port;

    const std::size_t pad = pad_of(p);
    std::size_t end = total;
    if (d.on_loss_port) {
        if (pad != 0) return Fault::length;
    } else {
        if (total < kHeaderBytes + pad + kIcrcBytes || (total & 3) != 0) return Fault::length;
        end = total - kIcrcBytes - pad;
        if (check && expect.verify_icrc) {
            if (!intact(packet)) return Fault::icrc;
        }
    }
    if (check && d.route.dst_qpn != expect.qpn) return Fault::qpn;
    if (check && d.route.qkey != expect.qkey) return Fault::qkey;
    return decode_body(packet, end, expect.tag_bytes, d);
}

}  // namespace

Fault decode(std::span<const std::byte> packet, const Expect& expect, Decoded& d) noexcept {
    return decode_with(packet, expect, true, d);
}

Fault decode_any(std::span<const std::byte> packet, Decoded& d, std::size_t tag_bytes) noexcept {
    return decode_with(packet, {.tag_bytes = tag_bytes}, false, d);
}

std::size_t encode_headers(std::span<std::byte> out, const Route& r, const CsaHeader& h,
                           std::size_t body) noexcept {
    std::byte* p = out.data();
    const std::size_t pad = r.icrc ? (0 - body) & 3 : 0;
    const std::size_t total = kHeaderBytes + body + pad + (r.icrc ? kIcrcBytes : 0);
    put8(p, 0x45);
    put8(p + 1, r.tos);
    put16(p + 2, static_cast<unsigned>(total));
    put16(p + 4, r.ip_id);
    put16(p + 6, kDontFragment);
    put8(p + 8, r.ttl);
    put8(p + 9, kProtocolUdp);
    put16(p + 10, 0);
    put32(p + 12, r.src_ipv4);
    put32(p + 16, r.dst_ipv4);
    put16(p + 10, ipv4_checksum(p));

    std::byte* udp = p + kUdpOffset;
    put16(udp, r.src_port);
    put16(udp + 2, r.dst_port);
    put16(udp + 4, static_cast<unsigned>(total - kIpv4Bytes));
    put16(udp + 6, 0);  // zero: not used (IPv4)

    std::byte* bth = p + kBthOffset;
    put8(bth, kOpcodeUdSendOnly);
    put8(bth + 1, static_cast<unsigned>(pad << 4));
    put16(bth + 2, kDefaultPkey);
    put8(bth + 4, 0);
    put24(bth + 5, r.dst_qpn);
    put8(bth + 8, 0);
    put24(bth + 9, r.psn);

    std::byte* deth = p + kDethOffset;
    put32(deth, r.qkey);
    put8(deth + 4, 0);
    put24(deth + 5, r.src_qpn);

    encode_csa(p + kCsaOffset, h);
    return pad;
}

void encode_control(std::span<std::byte> out, const ControlPart& c) noexcept {
    std::byte* p = out.data();
    put8(p, static_cast<unsigned>(c.reason));
    put8(p + 1, c.flags);
    put16(p + 2, c.ecn_count);
    put32(p + 4, c.newest_tx_ts);
    put16(p + 8, c.echoed_path);
    const bool window = (c.flags & kWindow) != 0;
    put16(p + 10, window ? c.window.size : c.gap.first);
    put16(p + 12, window ? c.window.arrived : c.gap.count);
    put16(p + 14, c.from_rank);
    put32(p + 16, c.credit);
    put16(p + 20, c.cumulative);
    put16(p + 22, c.bitmap_bits);
}

std::array<std::byte, 4> icrc(std::span<const std::byte> head, std::span<const std::byte> payload,
                              std::size_t pad) noexcept {
    constexpr std::array<std::byte, 3> kZeros{};
    return icrc(head, payload, std::span(kZeros).first(pad));
}

std::array<std::byte, 4> icrc(std::span<const std::byte> head, std::span<const std::byte> payload,
                              std::span<const std::byte> tail) noexcept {
    constexpr std::size_t kMostTail = kTagBytes + 3;
    std::uint32_t crc = kCrcOfLrh;
    if (head.size() == kHeaderBytes && payload.size() <= kSmallPayload) {  // in one go
        std::array<std::byte, kHeaderBytes + kSmallPayload + kMostTail> block;
        std::byte* end = block.data() + kHeaderBytes;
        std::memcpy(block.data(), head.data(), kHeaderBytes);
        if (!payload.empty()) std::memcpy(end, payload.data(), payload.size());
        if (!tail.empty()) std::memcpy(end + payload.size(), tail.data(), tail.size());
        crc =
            masked_crc32(crc, std::span(block).first(kHeaderBytes + payload.size() + tail.size()), kVariant);
    } else {
        crc = masked_crc32(crc, head, kVariant);
        if (!payload.empty()) crc = crc32(crc, payload);
        if (!tail.empty()) crc = crc32(crc, tail);
    }
    std::array<std::byte, 4> wire;
    for (std::size_t i = 0; i < 4; ++i) put8(wire.data() + i, crc >> (8 * i));
    return wire;
}

}  // namespace csaud::wire
