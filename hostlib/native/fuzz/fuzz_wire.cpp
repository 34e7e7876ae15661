// Any bytes as a packet: the decoder reads nothing outside of them, and what it accepts says the same when it
// is written again.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // A copy of its own size: the sanitizer sees a read of one byte more.
    const std::vector<std::byte> packet(reinterpret_cast<const std::byte*>(data),
                                        reinterpret_cast<const std::byte*>(data) + size);
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
    return total;
}
