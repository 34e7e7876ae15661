#include "ingress_program.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>

#include <algorithm>

#include "assembler.hpp"
#include "csaud_host/wire/wire.hpp"
#include "sockets.hpp"

namespace csaud::device::xdp {
namespace {

// Control packets take a smaller record than DATA. The kernel wants to know a record's size beforehand.
constexpr std::size_t kSmallPacket = 480;
constexpr std::size_t kRingHeader = 8;  // BPF_RINGBUF_HDR_SZ
constexpr std::size_t kAlign = 8;

constexpr int kPass = -1;  // TCX_NEXT: the next program, or the kernel
constexpr int kTake = 2;   // TCX_DROP: nobody else gets it

// Where the packet's first bytes lie in the program's stack, from its end (IPv4 header aligned to 4).
constexpr int kHeaders = -32;
constexpr std::size_t kHeaderBytes = wire::kIpv4Bytes + wire::kUdpBytes;
constexpr int kQpn = -40;
// In the packet, from the Ethernet header on.
constexpr std::size_t kIpv4At = ETH_HLEN;
constexpr std::size_t kQpnAt = kIpv4At + kHeaderBytes + 4;

constexpr std::uint16_t kFragment = 0x3fff;  // more fragments, or an offset
constexpr std::uint8_t kPlainIpv4 = 0x45;
constexpr std::int32_t kVlan = 0x0fff;

constexpr std::size_t record_bytes(std::size_t packet_bytes) {
    return (sizeof(RecordHeader) + packet_bytes + kAlign - 1) / kAlign * kAlign;
}

std::int32_t number(std::size_t value) {
    return static_cast<std::int32_t>(value);
}

// Copies r8 bytes of the packet, whose whole length is r9, into a record with room for `packet_bytes`.
void copy_to_ring(Assembler& code, std::size_t packet_bytes, int ring_fd, int control_fd) {
    code.load_map(R1, ring_fd);
    code.set(R2, number(record_bytes(packet_bytes)));
    code.set(R3, 0);
    code.call(BPF_FUNC_ringbuf_reserve);
    code.jump_if_equal(R0, 0, "full");
    code.copy(R7, R0);
    code.store64(R7, 0, R9);
    code.copy(R1, R6);
    code.set(R2, number(kIpv4At));
    code.copy(R3, R7);
    code.add(R3, sizeof(RecordHeader));
    code.copy(R4, R8);
    code.call(BPF_FUNC_skb_load_bytes);
    // The exchange is a full barrier: either we see that the process goes to sleep, or it sees the record
    // that was reserved above.
    code.load_value(R1, control_fd, offsetof(IngressControl, wake));
    code.set(R2, static_cast<std::int32_t>(kQuiet));
    code.exchange64(R1, 0, R2);
    code.copy(R1, R7);
    code.call(BPF_FUNC_ringbuf_submit);
    code.set(R0, kTake);
    code.exit();
}

}  // namespace

std::size_t largest_record(std::size_t packet_bytes) {
    return kRingHeader + record_bytes(packet_bytes);
}

std::vector<bpf_insn> make_ingress_program(const IngressFilter& filter, int ring_fd, int control_fd) {
    Assembler code;
    code.copy(R6, R1);
    code.load32(R2, R6, offsetof(__sk_buff, pkt_type));
    code.jump_if_not_equal(R2, PACKET_HOST, "pass");  // to another station
    code.load32(R2, R6, offsetof(__sk_buff, protocol));
    code.jump_if_not_equal(R2, htons(ETH_P_IP), "pass");
    code.load32(R2, R6, offsetof(__sk_buff, vlan_tci));
    code.mask(R2, kVlan);
    code.jump_if_not_equal(R2, 0, "pass");  // of a VLAN; a tag without one has a priority alone

    code.set(R2, number(kIpv4At));
    code.copy(R3, R10);
    code.add(R3, kHeaders);
    code.set(R4, number(kHeaderBytes));
    code.call(BPF_FUNC_skb_load_bytes);
    code.jump_if_not_equal(R0, 0, "pass");
    code.load8(R2, R10, kHeaders);
    code.jump_if_not_equal(R2, kPlainIpv4, "pass");
    code.load16(R2, R10, kHeaders + 6);
    code.mask(R2, htons(kFragment));
    code.jump_if_not_equal(R2, 0, "pass");
    code.load8(R2, R10, kHeaders + 9);
    code.jump_if_not_equal(R2, IPPROTO_UDP, "pass");
    code.load32(R2, R10, kHeaders + 16);
    code.set32(R3, htonl(filter.ipv4));
    code.jump_if_differ(R2, R3, "pass");
    code.load16(R2, R10, kHeaders + static_cast<int>(wire::kIpv4Bytes) + 2);
    code.jump_if_equal(R2, htons(kRocePort), "ours");
    code.jump_if_not_equal(R2, htons(kLossPort), "pass");

    code.label("ours");
    code.load32(R9, R6, offsetof(__sk_buff, len));
    code.add(R9, -number(kIpv4At));
    code.copy(R8, R9);
    code.jump_if_less(R8, number(kHeaderBytes), "pass");  // never, but the kernel wants to see it
    code.jump_if_less(R8, number(kHeaderBytes + wire::kBthBytes), "take");
    code.copy(R1, R6);
    code.set(R2, number(kQpnAt));
    code.copy(R3, R10);
    code.add(R3, kQpn);
    code.set(R4, sizeof(std::uint32_t));
    code.call(BPF_FUNC_skb_load_bytes);
    code.jump_if_not_equal(R0, 0, "pass");
    code.load32(R2, R10, kQpn);
    code.set32(R3, htonl(0x00ff'ffff));
    code.mask_by(R2, R3);
    code.set32(R3, htonl(filter.qpn));
    code.jump_if_differ(R2, R3, "pass");

    code.label("take");
    const std::size_t small = std::min(kSmallPacket, filter.packet_bytes);
    code.jump_if_greater(R8, number(small), "large");
    copy_to_ring(code, small, ring_fd, control_fd);
    code.label("large");
    code.jump_if_less(R8, number(filter.packet_bytes), "whole");
    code.set(R8, number(filter.packet_bytes));
    code.label("whole");
    copy_to_ring(code, filter.packet_bytes, ring_fd, control_fd);

    code.label("full");
    code.load_value(R1, control_fd, offsetof(IngressControl, dropped));
    code.set(R2, 1);
    code.atomic_add64(R1, 0, R2);
    code.set(R0, kTake);
    code.exit();
    code.label("pass");
    code.set(R0, kPass);
    code.exit();
    return code.finish();
}

}  // namespace csaud::device::xdp
