// Any bytes as a packet: the decoder reads nothing outside of them, what it accepts says the same when it
// is written again, and the short way for DATA takes the same packets and reads the same in them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "csaud_host/base/byte_order.hpp"
#include "csaud_host/wire/data_headers.hpp"
#include "csaud_host/wire/wire.hpp"
#include "expect.hpp"

namespace {

using csaud::wire::Decoded;
using csaud::wire::Fault;
namespace wire = csaud::wire;

bool inside(std::span<const std::byte> part, std::span<const std::byte> whole) {
    return part.empty() ||
           (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void check_rewritten(std::span<const std::byte> packet, const Decoded& read) {
    std::vector<std::byte> body(read.payload.begin(), read.payload.end());
    if (wire::has_control_part(read.csa.type)) {
        body.resize(wire::kControlBytes);
        wire::encode_control(body, read.control);
        body.insert(body.end(), read.bitmap.begin(), read.bitmap.end());
    }
    std::array<std::byte, wire::kHeaderBytes> head;
    const std::size_t pad = wire::encode_headers(head, read.route, read.csa, body.size());

    std::vector<std::byte> again(head.begin(), head.end());
    again.insert(again.end(), body.begin(), body.end());
    again.resize(again.size() + pad);
    if (!read.on_loss_port) {
        const auto crc = wire::icrc(head, body, pad);
        again.insert(again.end(), crc.begin(), crc.end());
    }

    Decoded reread;
    const wire::Expect expect{.qpn = read.route.dst_qpn, .qkey = read.route.qkey};
    CSAUD_EXPECT(wire::decode(again, expect, reread) == Fault::none);
    CSAUD_EXPECT(std::ranges::equal(reread.payload, read.payload));
    CSAUD_EXPECT(std::ranges::equal(reread.bitmap, read.bitmap));
    // From the CSA header to the end of what was covered by PadCnt, the two packets are the same bytes.
    CSAUD_EXPECT(std::equal(again.begin() + wire::kCsaOffset,
                            again.begin() + static_cast<std::ptrdiff_t>(wire::kHeaderBytes + body.size()),
                            packet.begin() + wire::kCsaOffset));

    // The same with one bit of the iCRC flipped is refused.
    if (!read.on_loss_port) {
        again.back() ^= std::byte{1};
        CSAUD_EXPECT(wire::decode(again, expect, reread) == Fault::icrc);
    }
}

// To an endpoint that has the key, queue pair and epoch that the packet names.
void check_short_way(std::span<const std::byte> packet, std::size_t tag_bytes) {
    if (packet.size() < wire::kHeaderBytes) return;
    const std::byte* p = packet.data();
    const wire::Expect expect{.qpn = csaud::get24(p + wire::kBthOffset + 5),
                              .qkey = csaud::get32(p + wire::kDethOffset),
                              .verify_icrc = false,
                              .tag_bytes = tag_bytes};
    const wire::DataHeaders ours(expect, csaud::get16(p + wire::kCsaOffset + 6));
    const std::size_t length = ours.length_of(packet);
    Decoded read;
    const bool data = wire::decode(packet, expect, read) == Fault::none &&
                      read.csa.type == wire::Type::data && read.route.dst_port == expect.roce_port;
    CSAUD_EXPECT((length != 0) == data);
    if (!data) return;
    Decoded shortly;
    ours.read(packet.first(length), shortly);
    const wire::CsaHeader &a = read.csa, &b = shortly.csa;
    CSAUD_EXPECT(a.type == b.type && a.flags == b.flags && a.spray == b.spray && a.cls == b.cls);
    CSAUD_EXPECT(a.ordered == b.ordered && a.attempt == b.attempt && a.name == b.name);
    CSAUD_EXPECT(a.pkt_idx == b.pkt_idx && a.pkt_total == b.pkt_total && a.tx_ts == b.tx_ts);
    CSAUD_EXPECT(a.path_id == b.path_id && a.path_seq == b.path_seq);
    CSAUD_EXPECT(read.route.src_ipv4 == shortly.route.src_ipv4 && read.route.tos == shortly.route.tos);
    CSAUD_EXPECT(read.route.src_qpn == shortly.route.src_qpn && shortly.route.icrc && !shortly.on_loss_port);
    CSAUD_EXPECT(read.payload.data() == shortly.payload.data() && read.tag == shortly.tag);
    CSAUD_EXPECT(read.payload.size() == shortly.payload.size() && shortly.bitmap.empty());
    CSAUD_EXPECT(tag_bytes == 0 || std::ranges::equal(read.headers, shortly.headers));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // A copy of its own size: the sanitizer sees a read of one byte more.
    const std::vector<std::byte> packet(reinterpret_cast<const std::byte*>(data),
                                        reinterpret_cast<const std::byte*>(data) + size);
    for (const std::size_t tag_bytes : {std::size_t{0}, wire::kTagBytes}) check_short_way(packet, tag_bytes);
    Decoded read;
    if (wire::decode_any(packet, read) != Fault::none) return 0;
    CSAUD_EXPECT(inside(read.payload, packet));
    CSAUD_EXPECT(inside(read.bitmap, packet));
    check_rewritten(packet, read);
    return 0;
}

// Lengths that fit, so that mutations reach past the first checks: the IPv4 and UDP lengths, the protocol and
// the opcode are put right in most inputs.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
    size = LLVMFuzzerMutate(data, size, max_size);
    if (seed % 8 == 0 || size < wire::kHeaderBytes + wire::kIcrcBytes || size > 0xFFFF) return size;
    const std::size_t total = size & ~std::size_t{3};
    const std::size_t udp = total - wire::kIpv4Bytes;
    data[0] = 0x45;
    data[2] = static_cast<std::uint8_t>(total >> 8);
    data[3] = static_cast<std::uint8_t>(total);
    data[9] = 17;
    data[24] = static_cast<std::uint8_t>(udp >> 8);
    data[25] = static_cast<std::uint8_t>(udp);
    data[28] = wire::kOpcodeUdSendOnly;
    data[48] = wire::kMagic >> 4;
    data[49] = static_cast<std::uint8_t>((wire::kMagic << 4) | wire::kVersion);
    data[50] = static_cast<std::uint8_t>(data[50] % 11);
    if (seed % 2 == 0) {  // DATA at its port
        constexpr std::uint16_t kPort = wire::Expect{}.roce_port;
        data[22] = kPort >> 8;
        data[23] = static_cast<std::uint8_t>(kPort);
        data[50] = 0;
    }
    return total;
}
