// The BPF program that takes a rank's packets from its interface before the kernel's IP and copies them into
// a ring buffer.
#pragma once

#include <linux/bpf.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace csaud::device::xdp {

// What the program and the process share beside the ring.
struct IngressControl {
    // The flags of the next record: kQuiet, or kWake from a process that is about to sleep. The program takes
    // them and leaves kQuiet.
    std::uint64_t wake = 0;
    std::uint64_t dropped = 0;  // packets that found the ring full
};
inline constexpr std::uint64_t kQuiet = BPF_RB_NO_WAKEUP;
inline constexpr std::uint64_t kWake = BPF_RB_FORCE_WAKEUP;

// A record: the packet's length from the IPv4 header on as it came, and the packet, cut where it is longer
// than any of ours.
struct RecordHeader {
    std::uint64_t length = 0;
};

struct IngressFilter {
    std::uint32_t ipv4 = 0;        // destination, host byte order
    std::uint32_t qpn = 0;         // destination queue pair
    std::size_t packet_bytes = 0;  // longest packet, from the IPv4 header on
};

// Bytes that a longest packet takes of the ring.
std::size_t largest_record(std::size_t packet_bytes);

// Takes IPv4 packets without options and fragments to the address, by UDP to the RoCE or the LOSS port, whose
// BTH names the queue pair, or which are too short to name one; all others go on their way.
std::vector<bpf_insn> make_ingress_program(const IngressFilter&, int ring_fd, int control_fd);

}  // namespace csaud::device::xdp
