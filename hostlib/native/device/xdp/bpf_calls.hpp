// The few calls of bpf(2) that the device needs. Debian 12's libbpf (1.1) knows no TCX links, and a program
// that is two pages of instructions needs no loader.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <span>

#include "file_descriptor.hpp"

namespace csaud::device::xdp {

// All throw std::system_error whose text says what the kernel lacks, or which privilege the process.

// A ring buffer (BPF_MAP_TYPE_RINGBUF) of `bytes`, a power of two and at least a page.
FileDescriptor create_ring_buffer(std::uint32_t bytes);
// One value of `bytes` that the process can map and programs can use (an array of one element).
FileDescriptor create_shared_value(std::uint32_t bytes);
// A program of the traffic-control kind (BPF_PROG_TYPE_SCHED_CLS).
FileDescriptor load_ingress_program(std::span<const bpf_insn> instructions);
// Runs the program on what the interface receives, before other programs there, until the descriptor is
// closed, however the process ends (a TCX link, Linux 6.6).
FileDescriptor link_ingress(const FileDescriptor& program, int interface_index);

}  // namespace csaud::device::xdp
