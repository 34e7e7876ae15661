// DATA for one endpoint, whoever sends it: what its headers have in common is compared at once, and what they
// differ in is read. decode() is for all other packets, and says what is wrong with one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "csaud_host/base/byte_order.hpp"
#include "csaud_host/wire/header_pattern.hpp"
#include "csaud_host/wire/header_prediction.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud::wire {

inline constexpr HeaderBytes kSameInData = same_in({
    {0, 1},                            // version
    {9, 10},                           // protocol
    {kUdpOffset + 2, kUdpOffset + 4},  // destination port
    {kBthOffset, kBthOffset + 1},      // opcode
    {kBthOffset + 5, kBthOffset + 8},  // destination QP
    {kDethOffset, kDethOffset + 4},    // Q_Key
    {kCsaOffset, kCsaOffset + 3},      // magic, version, type
    {kCsaOffset + 6, kCsaOffset + 8},  // epoch
});

class DataHeaders {
  public:
    DataHeaders(const Expect& expect, std::uint16_t epoch) noexcept : tag_bytes_(expect.tag_bytes) {
        HeaderBytes headers;
        CsaHeader csa;
        csa.name.epoch = epoch;
        encode_headers(headers, {.dst_qpn = expect.qpn, .qkey = expect.qkey, .dst_port = expect.roce_port},
                       csa, 0);
        common_.learn(headers.data());
    }

    // Bytes of the IPv4 packet, whatever follows it in its buffer, if it is DATA of our epoch for this
    // endpoint and its lengths are right; else 0. It has room for headers. The iCRC is not looked at.
    std::size_t length_of(std::span<const std::byte> packet) const noexcept {
        const std::byte* p = packet.data();
        const std::size_t total = get16(p + 2);
        const std::size_t udp = get16(p + kUdpOffset + 4);
        const bool fits = total <= packet.size() && udp + kIpv4Bytes == total && (total & 3) == 0 &&
                          total >= kHeaderBytes + pad_of(p) + tag_bytes_ + kIcrcBytes;
        return fits && common_.matches(p) ? total : 0;
    }
    // Of such a packet, of that many bytes, all that a receiver of DATA looks at: of its route that is source
    // and TOS. The rest of `d` stays as it is made.
    void read(std::span<const std::byte> packet, Decoded& d) const noexcept {
        const std::byte* p = packet.data();
        d.route.src_ipv4 = get32(p + 12);
        d.route.src_qpn = get24(p + kDethOffset + 5);
        const std::uint8_t mode = get8(p + kCsaOffset + 4);
        d.csa.spray = spray_of(mode);
        d.csa.cls = class_of(mode);
        d.csa.ordered = ordered_of(mode);
        decode_name(p + kCsaOffset, d.csa.name);
        d.csa.pkt_total = get16(p + kCsaOffset + 22);
        d.payload = {p + kHeaderBytes, packet.size() - kHeaderBytes - pad_of(p) - tag_bytes_ - kIcrcBytes};
        HeaderPrediction::update(packet, d);
        if (tag_bytes_ == 0) return;
        d.headers = packet.subspan(kCsaOffset, kCsaBytes);
        HeaderPrediction::update_tag(packet, d);
    }

  private:
    HeaderPattern<kSameInData> common_;
    std::size_t tag_bytes_;
};

}  // namespace csaud::wire
