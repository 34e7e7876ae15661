// BPF instructions by name, with labels for jumps that go forward.
#pragma once

#include <linux/bpf.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace csaud::device::xdp {

enum Register : std::uint8_t { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 };

class Assembler {
  public:
    void copy(Register to, Register from) { emit(BPF_ALU64 | BPF_MOV | BPF_X, to, from); }
    void set(Register to, std::int32_t value) { emit(BPF_ALU64 | BPF_MOV | BPF_K, to, R0, 0, value); }
    // Zero-extended.
    void set32(Register to, std::uint32_t value) {
        emit(BPF_ALU | BPF_MOV | BPF_K, to, R0, 0, static_cast<std::int32_t>(value));
    }
    void add(Register to, std::int32_t value) { emit(BPF_ALU64 | BPF_ADD | BPF_K, to, R0, 0, value); }
    void mask(Register to, std::int32_t value) { emit(BPF_ALU64 | BPF_AND | BPF_K, to, R0, 0, value); }
    void mask_by(Register to, Register by) { emit(BPF_ALU64 | BPF_AND | BPF_X, to, by); }

    void load8(Register to, Register base, int offset) { emit(BPF_LDX | BPF_MEM | BPF_B, to, base, offset); }
    void load16(Register to, Register base, int offset) { emit(BPF_LDX | BPF_MEM | BPF_H, to, base, offset); }
    void load32(Register to, Register base, int offset) { emit(BPF_LDX | BPF_MEM | BPF_W, to, base, offset); }
    void store64(Register base, int offset, Register from) {
        emit(BPF_STX | BPF_MEM | BPF_DW, base, from, offset);
    }
    // The register gets what was in memory.
    void exchange64(Register base, int offset, Register with) {
        emit(BPF_STX | BPF_ATOMIC | BPF_DW, base, with, offset, BPF_XCHG);
    }
    void atomic_add64(Register base, int offset, Register value) {
        emit(BPF_STX | BPF_ATOMIC | BPF_DW, base, value, offset, BPF_ADD);
    }
    void load_map(Register to, int fd) { load_fd(to, BPF_PSEUDO_MAP_FD, fd, 0); }
    // The address of byte `offset` of a one-element array's value.
    void load_value(Register to, int fd, std::size_t offset) {
        load_fd(to, BPF_PSEUDO_MAP_VALUE, fd, static_cast<std::int32_t>(offset));
    }

    void jump_if_equal(Register a, std::int32_t b, std::string_view to) {
        jump(BPF_JEQ | BPF_K, a, R0, b, to);
    }
    void jump_if_not_equal(Register a, std::int32_t b, std::string_view to) {
        jump(BPF_JNE | BPF_K, a, R0, b, to);
    }
    void jump_if_differ(Register a, Register b, std::string_view to) { jump(BPF_JNE | BPF_X, a, b, 0, to); }
    void jump_if_less(Register a, std::int32_t b, std::string_view to) {
        jump(BPF_JLT | BPF_K, a, R0, b, to);
    }
    void jump_if_greater(Register a, std::int32_t b, std::string_view to) {
        jump(BPF_JGT | BPF_K, a, R0, b, to);
    }
    void call(std::int32_t helper) { emit(BPF_JMP | BPF_CALL, R0, R0, 0, helper); }
    void exit() { emit(BPF_JMP | BPF_EXIT, R0, R0); }
    void label(std::string_view name) { labels_[std::string(name)] = code_.size(); }

    // The program with its jumps resolved. Throws std::logic_error for a label that is nowhere.
    std::vector<bpf_insn> finish() {
        for (const auto& [at, name] : jumps_) {
            const auto label = labels_.find(name);
            if (label == labels_.end()) throw std::logic_error("no label " + name);
            code_[at].off = static_cast<std::int16_t>(label->second - at - 1);
        }
        return std::move(code_);
    }

  private:
    void emit(int code, Register to, Register from, int offset = 0, std::int32_t value = 0) {
        bpf_insn instruction{};
        instruction.code = static_cast<std::uint8_t>(code);
        instruction.dst_reg = static_cast<std::uint8_t>(to & 0xf);
        instruction.src_reg = static_cast<std::uint8_t>(from & 0xf);
        instruction.off = static_cast<std::int16_t>(offset);
        instruction.imm = value;
        code_.push_back(instruction);
    }
    void jump(int code, Register a, Register b, std::int32_t value, std::string_view to) {
        jumps_.emplace_back(code_.size(), std::string(to));
        emit(BPF_JMP | code, a, b, 0, value);
    }
    void load_fd(Register to, int kind, int fd, std::int32_t offset) {
        emit(BPF_LD | BPF_IMM | BPF_DW, to, static_cast<Register>(kind), 0, fd);
        emit(0, R0, R0, 0, offset);
    }

    std::vector<bpf_insn> code_;
    std::vector<std::pair<std::size_t, std::string>> jumps_;
    std::map<std::string, std::size_t> labels_;
};

}  // namespace csaud::device::xdp
