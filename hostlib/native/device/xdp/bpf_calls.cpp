#include "bpf_calls.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "sockets.hpp"

namespace csaud::device::xdp {
namespace {

// linux/bpf.h of Linux 6.6, newer than the headers that distributions build with.
constexpr std::uint32_t kTcxIngress = 46;        // BPF_TCX_INGRESS
constexpr std::uint32_t kBefore = 1U << 3;       // BPF_F_BEFORE: first where no other is named
constexpr std::size_t kVerifierText = 16 << 10;  // bytes of what the kernel says of a program
constexpr std::size_t kLastWords = 300;          // of it that an error tells: its reason comes last

FileDescriptor call(bpf_cmd command, bpf_attr& attributes) {
    return FileDescriptor(static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes)));
}

std::uint64_t address(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

FileDescriptor create_map(const bpf_attr& wanted, const char* what) {
    bpf_attr attributes = wanted;
    FileDescriptor fd = call(BPF_MAP_CREATE, attributes);
    if (!fd) throw_errno(what);
    return fd;
}

}  // namespace

FileDescriptor create_ring_buffer(std::uint32_t bytes) {
    bpf_attr attributes{};
    attributes.map_type = BPF_MAP_TYPE_RINGBUF;
    attributes.max_entries = bytes;
    return create_map(attributes, "create a BPF ring buffer");
}

FileDescriptor create_shared_value(std::uint32_t bytes) {
    bpf_attr attributes{};
    attributes.map_type = BPF_MAP_TYPE_ARRAY;
    attributes.key_size = sizeof(std::uint32_t);
    attributes.value_size = bytes;
    attributes.max_entries = 1;
    attributes.map_flags = BPF_F_MMAPABLE;
    return create_map(attributes, "create a BPF array");
}

FileDescriptor load_ingress_program(std::span<const bpf_insn> instructions) {
    static constexpr char kLicense[] = "Apache-2.0";
    bpf_attr attributes{};
    attributes.prog_type = BPF_PROG_TYPE_SCHED_CLS;
    attributes.insns = address(instructions.data());
    attributes.insn_cnt = static_cast<std::uint32_t>(instructions.size());
    attributes.license = address(kLicense);
    FileDescriptor fd = call(BPF_PROG_LOAD, attributes);
    if (fd) return fd;
    if (errno == EPERM) throw_errno("load a BPF program");
    // Once more, to hear why.
    std::string text(kVerifierText, '\0');
    attributes.log_buf = address(text.data());
    attributes.log_size = kVerifierText;
    attributes.log_level = 1;
    fd = call(BPF_PROG_LOAD, attributes);
    if (fd) return fd;
    const int error = errno;
    text.resize(text.find('\0'));
    if (text.size() > kLastWords) text.erase(0, text.size() - kLastWords);
    errno = error;
    throw_errno("load a BPF program: " + text);
}

FileDescriptor link_ingress(const FileDescriptor& program, int interface_index) {
    bpf_attr attributes{};
    attributes.link_create.prog_fd = static_cast<std::uint32_t>(program.get());
    attributes.link_create.target_ifindex = static_cast<std::uint32_t>(interface_index);
    attributes.link_create.attach_type = kTcxIngress;
    attributes.link_create.flags = kBefore;
    FileDescriptor fd = call(BPF_LINK_CREATE, attributes);
    if (fd) return fd;
    if (errno == EINVAL) throw_errno("attach a BPF program to the interface (TCX; Linux 6.6 or newer)");
    throw_errno("attach a BPF program to the interface");
}

}  // namespace csaud::device::xdp
