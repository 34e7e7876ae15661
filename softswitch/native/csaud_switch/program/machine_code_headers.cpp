// Instructions of parser and deparser.
#include "csaud_switch/program/machine_code.hpp"

namespace csaud::sw {

void Assembler::enter_parser(std::size_t stack_words) {
    // push rbx, r12, r13, r14: with the return address 40 bytes, and 8 more keep the stack aligned.
    bytes({0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56});
    stack_bytes_ = (stack_words * 8 + 15) / 16 * 16 + 8;
    bytes({0x48, 0x81, 0xEC});  // sub rsp, n
    number32(stack_bytes_);
    bytes({0x48, 0x89, 0xFB});  // mov rbx, rdi: slots
    bytes({0x49, 0x89, 0xD4});  // mov r12, rdx: headers
    bytes({0x41, 0x89, 0xCD});  // mov r13d, ecx: bytes left
    bytes({0x45, 0x89, 0xC6});  // mov r14d, r8d: place
}

void Assembler::need_bytes(std::uint32_t count, Label otherwise) {
    bytes({0x41, 0x81, 0xFD});  // cmp r13d, n
    number32(count);
    jump_if(If::kBelow, otherwise);
}

void Assembler::take_header(std::uint32_t state_offset, std::uint32_t count) {
    bytes({0x45, 0x89, 0xB4, 0x24});  // mov [r12 + d], r14d: not dirty
    number32(state_offset);
    skip_header(count);
}

void Assembler::skip_header(std::uint32_t count) {
    bytes({0x41, 0x81, 0xC6});  // add r14d, n
    number32(count);
    bytes({0x41, 0x81, 0xED});  // sub r13d, n
    number32(count);
}

void Assembler::pass_bytes(std::uint32_t count) {
    bytes({0x48, 0x81, 0xC6});  // add rsi, n
    number32(count);
}

void Assembler::keep_error() {
    shift_left(32);
    bytes({0x49, 0x09, 0xC6});  // or r14, rax
}

void Assembler::set_bad() {
    bytes({0x49, 0x0F, 0xBA, 0xEE, 0x3F});  // bts r14, 63
}

void Assembler::leave_parser() {
    bytes({0x4C, 0x89, 0xF0});  // mov rax, r14
    bytes({0x48, 0x81, 0xC4});  // add rsp, n
    number32(stack_bytes_);
    bytes({0x41, 0x5E, 0x41, 0x5D, 0x41, 0x5C, 0x5B, 0xC3});
}

void Assembler::enter_deparser(std::size_t stack_words) {
    bytes({0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56});
    stack_bytes_ = (stack_words * 8 + 15) / 16 * 16 + 8;
    bytes({0x48, 0x81, 0xEC});  // sub rsp, n
    number32(stack_bytes_);
    bytes({0x48, 0x89, 0xFB});  // mov rbx, rdi: slots
    bytes({0x49, 0x89, 0xF4});  // mov r12, rsi: headers
    bytes({0x49, 0x89, 0xD5});  // mov r13, rdx: buffer
    bytes({0x41, 0x89, 0xCE});  // mov r14d, ecx: place
}

void Assembler::before_header(std::uint32_t state_offset, std::uint32_t count, Label elsewhere, Label clean) {
    bytes({0x41, 0x81, 0xEE});  // sub r14d, n
    number32(count);
    bytes({0x41, 0x0F, 0xB7, 0x84, 0x24});  // movzx eax, word [r12 + d]
    number32(state_offset);
    bytes({0x44, 0x39, 0xF0});  // cmp eax, r14d
    jump_if(If::kNotEqual, elsewhere);
    bytes({0x41, 0x80, 0xBC, 0x24});  // cmp byte [r12 + d + 2], 0
    number32(state_offset + 2);
    bytes({0x00});
    jump_if(If::kEqual, clean);
    bytes({0x4B, 0x8D, 0x74, 0x35, 0x00});  // lea rsi, [r13 + r14]
}

void Assembler::leave_deparser(Label elsewhere) {
    bytes({0x44, 0x89, 0xF0});  // mov eax, r14d
    const Label out = label();
    jump(out);
    place(elsewhere);
    load_constant(UINT32_MAX);
    place(out);
    bytes({0x48, 0x81, 0xC4});  // add rsp, n
    number32(stack_bytes_);
    bytes({0x41, 0x5E, 0x41, 0x5D, 0x41, 0x5C, 0x5B, 0xC3});
}

void Assembler::load_field(std::uint32_t bit_offset, unsigned width) {
    const std::uint32_t at = bit_offset / 8;
    const unsigned shift = bit_offset % 8;
    if (shift == 0 && width == 8) {
        bytes({0x0F, 0xB6, 0x86});  // movzx eax, byte [rsi + d]
        number32(at);
    } else if (shift == 0 && width == 16) {
        bytes({0x0F, 0xB7, 0x86});  // movzx eax, word [rsi + d]
        number32(at);
        bytes({0x66, 0xC1, 0xC0, 0x08});  // rol ax, 8
    } else if (shift == 0 && width == 32) {
        bytes({0x8B, 0x86});  // mov eax, [rsi + d]
        number32(at);
        bytes({0x0F, 0xC8});  // bswap eax
    } else {
        bytes({0x48, 0x8B, 0x86});  // mov rax, [rsi + d]
        number32(at);
        bytes({0x48, 0x0F, 0xC8});  // bswap rax
        if (shift > 0) shift_left(shift);
        if (width < 64) shift_right(64 - width, false);
    }
}

void Assembler::store_field(std::uint32_t bit_offset, unsigned width) {
    const std::uint32_t at = bit_offset / 8;
    const unsigned shift = bit_offset % 8;
    if (shift == 0 && width == 8) {
        bytes({0x88, 0x86});  // mov [rsi + d], al
    } else if (shift == 0 && width == 16) {
        bytes({0x66, 0xC1, 0xC0, 0x08});  // rol ax, 8
        bytes({0x66, 0x89, 0x86});        // mov [rsi + d], ax
    } else if (shift == 0 && width == 32) {
        bytes({0x0F, 0xC8});  // bswap eax
        bytes({0x89, 0x86});  // mov [rsi + d], eax
    } else if (shift == 0 && width == 64) {
        bytes({0x48, 0x0F, 0xC8});  // bswap rax
        bytes({0x48, 0x89, 0x86});  // mov [rsi + d], rax
    } else {
        const unsigned up = 64 - shift - width;
        const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
        alu_constant(Alu::kAnd, mask);
        if (up > 0) shift_left(up);
        bytes({0x48, 0x8B, 0x96});  // mov rdx, [rsi + d]
        number32(at);
        bytes({0x48, 0x0F, 0xCA});  // bswap rdx
        bytes({0x48, 0xB9});        // mov rcx, imm64
        number64(~(mask << up));
        bytes({0x48, 0x21, 0xCA});  // and rdx, rcx
        bytes({0x48, 0x09, 0xD0});  // or rax, rdx
        bytes({0x48, 0x0F, 0xC8});  // bswap rax
        bytes({0x48, 0x89, 0x86});  // mov [rsi + d], rax
    }
    number32(at);
}

void Assembler::put_bytes(std::size_t stack_offset, unsigned count) {
    switch (count) {
        case 1:
            bytes({0x88});  // mov [rsp + d], al
            break;
        case 2:
            bytes({0x66, 0xC1, 0xC0, 0x08});  // rol ax, 8
            bytes({0x66, 0x89});              // mov [rsp + d], ax
            break;
        case 4:
            bytes({0x0F, 0xC8});  // bswap eax
            bytes({0x89});        // mov [rsp + d], eax
            break;
        default:
            if (count < 8) shift_left(64 - 8 * count);
            bytes({0x48, 0x0F, 0xC8});  // bswap rax
            bytes({0x48, 0x89});        // mov [rsp + d], rax
    }
    stack_address(0, stack_offset);
}

void Assembler::add_shifted(Word word, unsigned shift) {
    if (shift == 0) {
        alu(Alu::kAdd, word);
        return;
    }
    bytes({0x48, 0x8B});  // mov rcx, word
    address(1, word);
    bytes({0x48, 0xC1, 0xE1, static_cast<int>(shift)});  // shl rcx, n
    bytes({0x48, 0x01, 0xC8});                           // add rax, rcx
}

void Assembler::fold_to_16_bits() {
    bytes({0x89, 0xC1});                  // mov ecx, eax
    bytes({0x48, 0xC1, 0xE8, 0x20});      // shr rax, 32
    bytes({0x48, 0x01, 0xC8});            // add rax, rcx: 33 bits
    for (int i = 0; i < 3; ++i) {         // then at most 18, 17 with little above 16, and 16
        bytes({0x0F, 0xB7, 0xC8});        // movzx ecx, ax
        bytes({0x48, 0xC1, 0xE8, 0x10});  // shr rax, 16
        bytes({0x48, 0x01, 0xC8});        // add rax, rcx
    }
    bytes({0x35});  // xor eax, imm32
    number32(0xFFFF);
}

}  // namespace csaud::sw
