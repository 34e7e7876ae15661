#include "packet_filter.hpp"

#include <linux/filter.h>
#include <sys/socket.h>

#include <span>
#include <vector>

#include "sockets.hpp"

namespace csaud::device {
namespace {

void attach(const FileDescriptor& fd, std::span<sock_filter> program) {
    const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
    if (::setsockopt(fd.get(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0)
        throw_errno("attach packet filter");
}

constexpr sock_filter statement(std::uint16_t code, std::uint32_t k) {
    return {code, 0, 0, k};
}
constexpr sock_filter jump(std::uint16_t code, std::uint32_t k, std::uint8_t if_true, std::uint8_t if_false) {
    return {code, if_true, if_false, k};
}

constexpr std::uint32_t kAccept = 0xffff'ffff;
constexpr std::uint32_t kDrop = 0;
// Offsets from the UDP header; BTH follows it, with the destination QP in the low 24 bits of its second word.
constexpr std::uint32_t kUdpDestinationPort = 2;
constexpr std::uint32_t kBthDestinationQp = 8 + 4;
constexpr std::uint32_t kEndOfBth = 8 + 12;

}  // namespace

void attach_qpn_filter(const FileDescriptor& fd, std::uint32_t qpn, Ports ports, Begin begin) {
    std::vector<sock_filter> program{
        // X = length of the IP header, where UDP begins
        begin == Begin::ipv4 ? statement(BPF_LDX | BPF_B | BPF_MSH, 0) : statement(BPF_LDX | BPF_IMM, 0),
        statement(BPF_LD | BPF_H | BPF_IND, kUdpDestinationPort),
        jump(BPF_JMP | BPF_JEQ | BPF_K, ports == Ports::both ? kRocePort : kLossPort, 1, 0),
        jump(BPF_JMP | BPF_JEQ | BPF_K, kLossPort, 0, 7),
        // too short for a BTH: pass
        statement(BPF_LD | BPF_W | BPF_LEN, 0),
        statement(BPF_ALU | BPF_SUB | BPF_X, 0),
        jump(BPF_JMP | BPF_JGE | BPF_K, kEndOfBth, 0, 3),
        statement(BPF_LD | BPF_W | BPF_IND, kBthDestinationQp),
        statement(BPF_ALU | BPF_AND | BPF_K, 0x00ff'ffff),
        jump(BPF_JMP | BPF_JEQ | BPF_K, qpn, 0, 1),
        statement(BPF_RET | BPF_K, kAccept),
        statement(BPF_RET | BPF_K, kDrop),
    };
    attach(fd, program);
}

void attach_drop_all_filter(const FileDescriptor& fd) {
    std::vector<sock_filter> program{statement(BPF_RET | BPF_K, kDrop)};
    attach(fd, program);
}

}  // namespace csaud::device
