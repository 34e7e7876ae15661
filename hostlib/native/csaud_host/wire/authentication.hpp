// Authentication of packets: 8 bytes behind what the CSA header is followed by, which only ranks of the job
// can make. They cover addresses, queue pairs, the CSA header and a control packet's rest; not what switches
// and routers may change, and not the payload. A LOSS has none: a switch has cut them off.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "csaud_host/base/bitmap.hpp"
#include "csaud_host/base/byte_order.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud {

// What makes a tag: 8 bytes out, key of 16 bytes (libsodium's crypto_shorthash: SipHash-2-4).
using MakeTag = int (*)(unsigned char* out, const unsigned char* in, unsigned long long length,
                        const unsigned char* key);

struct Authentication {
    MakeTag make = nullptr;  // nullptr: packets are not authenticated
    std::array<unsigned char, 16> key{};

    bool on() const noexcept { return make != nullptr; }
    std::size_t bytes() const noexcept { return on() ? wire::kTagBytes : 0; }
};

// From where to where.
struct Ends {
    std::uint32_t src_ipv4 = 0, dst_ipv4 = 0;
    std::uint32_t src_qpn = 0, dst_qpn = 0;
};

// The tag of a packet with `headers` from its CSA header on, and `payload` bytes behind them.
inline std::array<std::byte, wire::kTagBytes> tag_of(const Authentication& auth, const Ends& ends,
                                                     std::span<const std::byte> headers,
                                                     std::size_t payload) noexcept {
    constexpr std::size_t kEnds = 16;
    constexpr std::size_t kLongest = wire::kCsaBytes + wire::kControlBytes +
                                     std::max(Bitmap::wire_bytes(kMaxPackets), wire::kMaxNoteBytes);
    std::array<std::byte, kEnds + kLongest> in;
    put32(in.data(), ends.src_ipv4);
    put32(in.data() + 4, ends.dst_ipv4);
    put24(in.data() + 8, ends.src_qpn);
    put24(in.data() + 11, ends.dst_qpn);
    put16(in.data() + 14, static_cast<unsigned>(payload));
    assert(headers.size() <= kLongest);
    std::memcpy(in.data() + kEnds, headers.data(), headers.size());
    std::array<std::byte, wire::kTagBytes> tag;
    auth.make(reinterpret_cast<unsigned char*>(tag.data()), reinterpret_cast<const unsigned char*>(in.data()),
              kEnds + headers.size(), auth.key.data());
    return tag;
}

}  // namespace csaud
