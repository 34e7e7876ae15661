#include "csaud_switch/program/header_assembler.hpp"

namespace csaud::sw {

void HeaderAssembler::keep_registers(std::size_t stack_words) {
    // push rbx, r12, r13, r14
    out_.bytes({0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56});
    out_.reserve_stack(stack_words);
    out_.bytes({0x48, 0x89, 0xFB});  // mov rbx, rdi: slots
}

void HeaderAssembler::restore_registers() {
    out_.release_stack();
    out_.bytes({0x41, 0x5E, 0x41, 0x5D, 0x41, 0x5C, 0x5B, 0xC3});
}

void HeaderAssembler::enter_parser(std::size_t stack_words) {
    keep_registers(stack_words);
    out_.bytes({0x49, 0x89, 0xD4});  // mov r12, rdx: headers
    out_.bytes({0x41, 0x89, 0xCD});  // mov r13d, ecx: bytes left
    out_.bytes({0x45, 0x89, 0xC6});  // mov r14d, r8d: place
}

void HeaderAssembler::need_bytes(std::uint32_t count, Label otherwise) {
    out_.bytes({0x41, 0x81, 0xFD});  // cmp r13d, n
    out_.number32(count);
    out_.jump_if(Assembler::If::kBelow, otherwise);
}

void HeaderAssembler::take_header(std::uint32_t state_offset, std::uint32_t count) {
    out_.bytes({0x45, 0x89, 0xB4, 0x24});  // mov [r12 + d], r14d: not dirty
    out_.number32(state_offset);
    skip_header(count);
}

void HeaderAssembler::skip_header(std::uint32_t count) {
    out_.bytes({0x41, 0x81, 0xC6});  // add r14d, n
    out_.number32(count);
    out_.bytes({0x41, 0x81, 0xED});  // sub r13d, n
    out_.number32(count);
}

void HeaderAssembler::pass_bytes(std::uint32_t count) {
    out_.bytes({0x48, 0x81, 0xC6});  // add rsi, n
    out_.number32(count);
}

void HeaderAssembler::keep_error() {
    out_.shift_left(32);
    out_.bytes({0x49, 0x09, 0xC6});  // or r14, rax
}

void HeaderAssembler::set_bad() {
    out_.bytes({0x49, 0x0F, 0xBA, 0xEE, 0x3F});  // bts r14, 63
}

void HeaderAssembler::leave_parser() {
    out_.bytes({0x4C, 0x89, 0xF0});  // mov rax, r14
    restore_registers();
}

void HeaderAssembler::enter_deparser(std::size_t stack_words) {
    keep_registers(stack_words);
    out_.bytes({0x49, 0x89, 0xF4});  // mov r12, rsi: headers
    out_.bytes({0x49, 0x89, 0xD5});  // mov r13, rdx: buffer
    out_.bytes({0x41, 0x89, 0xCE});  // mov r14d, ecx: place
}

void HeaderAssembler::before_header(std::uint32_t state_offset, std::uint32_t count, Label elsewhere,
                                    Label clean) {
    out_.bytes({0x41, 0x81, 0xEE});  // sub r14d, n
    out_.number32(count);
    out_.bytes({0x41, 0x0F, 0xB7, 0x84, 0x24});  // movzx eax, word [r12 + d]
    out_.number32(state_offset);
    out_.bytes({0x44, 0x39, 0xF0});  // cmp eax, r14d
    out_.jump_if(Assembler::If::kNotEqual, elsewhere);
    out_.bytes({0x41, 0x80, 0xBC, 0x24});  // cmp byte [r12 + d + 2], 0
    out_.number32(state_offset + 2);
    out_.bytes({0x00});
    out_.jump_if(Assembler::If::kEqual, clean);
    out_.bytes({0x4B, 0x8D, 0x74, 0x35, 0x00});  // lea rsi, [r13 + r14]
}

void HeaderAssembler::leave_deparser(Label elsewhere) {
    out_.bytes({0x44, 0x89, 0xF0});  // mov eax, r14d
    const Label out = out_.label();
    out_.jump(out);
    out_.place(elsewhere);
    out_.load_constant(UINT32_MAX);
    out_.place(out);
    restore_registers();
}

void HeaderAssembler::load_field(std::uint32_t bit_offset, unsigned width) {
    const std::uint32_t at = bit_offset / 8;
    const unsigned shift = bit_offset % 8;
    if (shift == 0 && width == 8) {
        out_.bytes({0x0F, 0xB6, 0x86});  // movzx eax, byte [rsi + d]
        out_.number32(at);
    } else if (shift == 0 && width == 16) {
        out_.bytes({0x0F, 0xB7, 0x86});  // movzx eax, word [rsi + d]
        out_.number32(at);
        out_.bytes({0x66, 0xC1, 0xC0, 0x08});  // rol ax, 8
    } else if (shift == 0 && width == 32) {
        out_.bytes({0x8B, 0x86});  // mov eax, [rsi + d]
        out_.number32(at);
        out_.bytes({0x0F, 0xC8});  // bswap eax
    } else {
        out_.bytes({0x48, 0x8B, 0x86});  // mov rax, [rsi + d]
        out_.number32(at);
        out_.bytes({0x48, 0x0F, 0xC8});  // bswap rax
        if (shift > 0) out_.shift_left(shift);
        if (width < 64) out_.shift_right(64 - width, false);
    }
}

void HeaderAssembler::store_field(std::uint32_t bit_offset, unsigned width) {
    const std::uint32_t at = bit_offset / 8;
    const unsigned shift = bit_offset % 8;
    if (shift == 0 && width == 8) {
        out_.bytes({0x88, 0x86});  // mov [rsi + d], al
    } else if (shift == 0 && width == 16) {
        out_.bytes({0x66, 0xC1, 0xC0, 0x08});  // rol ax, 8
        out_.bytes({0x66, 0x89, 0x86});        // mov [rsi + d], ax
    } else if (shift == 0 && width == 32) {
        out_.bytes({0x0F, 0xC8});  // bswap eax
        out_.bytes({0x89, 0x86});  // mov [rsi + d], eax
    } else if (shift == 0 && width == 64) {
        out_.bytes({0x48, 0x0F, 0xC8});  // bswap rax
        out_.bytes({0x48, 0x89, 0x86});  // mov [rsi + d], rax
    } else {
        const unsigned up = 64 - shift - width;
        const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
        out_.alu_constant(Assembler::Alu::kAnd, mask);
        if (up > 0) out_.shift_left(up);
        out_.bytes({0x48, 0x8B, 0x96});  // mov rdx, [rsi + d]
        out_.number32(at);
        out_.bytes({0x48, 0x0F, 0xCA});  // bswap rdx
        out_.bytes({0x48, 0xB9});        // mov rcx, imm64
        out_.number64(~(mask << up));
        out_.bytes({0x48, 0x21, 0xCA});  // and rdx, rcx
        out_.bytes({0x48, 0x09, 0xD0});  // or rax, rdx
        out_.bytes({0x48, 0x0F, 0xC8});  // bswap rax
        out_.bytes({0x48, 0x89, 0x86});  // mov [rsi + d], rax
    }
    out_.number32(at);
}

}  // namespace csaud::sw
