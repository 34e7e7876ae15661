#include "csaud_switch/program/machine_code.hpp"

#include <bit>
#include <cstring>

namespace csaud::sw {

namespace {

// Registers by their number in an instruction.
constexpr int kRax = 0;
constexpr int kRcx = 1;
constexpr int kRdx = 2;

}  // namespace

void Assembler::bytes(std::initializer_list<int> list) {
    for (const int byte : list) code_.push_back(static_cast<std::uint8_t>(byte));
}

void Assembler::number32(std::uint64_t value) {
    for (unsigned i = 0; i < 4; ++i) code_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void Assembler::number64(std::uint64_t value) {
    number32(value);
    number32(value >> 32);
}

// As a 32-bit number that the processor extends with its sign.
bool Assembler::is_small(std::uint64_t value) {
    const auto extended = static_cast<std::int64_t>(value);
    return extended >= INT32_MIN && extended <= INT32_MAX;
}

// ModRM with a displacement of 32 bits: [rbx + d], [rbp + d] or [rsp + d].
void Assembler::address(int reg, Word word) {
    switch (word.base) {
        case Base::kSlots:
            bytes({0x80 | reg << 3 | 3});
            break;
        case Base::kParameters:
            bytes({0x80 | reg << 3 | 5});
            break;
        case Base::kStack:
            stack_address(reg, std::size_t{word.index} * 8);
            return;
    }
    number32(std::uint64_t{word.index} * 8);
}

// ModRM for [rsp + d], d in bytes.
void Assembler::stack_address(int reg, std::size_t offset) {
    bytes({0x80 | reg << 3 | 4, 0x24});
    number32(offset);
}

// With the return address the registers leave it 8 bytes off.
void Assembler::reserve_stack(std::size_t words) {
    stack_bytes_ = (words * 8 + 15) / 16 * 16 + 8;
    bytes({0x48, 0x81, 0xEC});  // sub rsp, n
    number32(stack_bytes_);
}

void Assembler::release_stack() {
    bytes({0x48, 0x81, 0xC4});  // add rsp, n
    number32(stack_bytes_);
}

void Assembler::enter(std::size_t stack_words) {
    // push rbx, rbp, r12, r13, r14, r15
    bytes({0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57});
    reserve_stack(stack_words);
    bytes({0x48, 0x89, 0xFB});  // mov rbx, rdi: slots
    bytes({0x48, 0x89, 0xF5});  // mov rbp, rsi: parameters
    bytes({0x49, 0x89, 0xD5});  // mov r13, rdx: packet
    bytes({0x49, 0x89, 0xCE});  // mov r14, rcx: interpreter
    bytes({0x4D, 0x89, 0xC4});  // mov r12, r8: headers
    bytes({0x4D, 0x89, 0xCF});  // mov r15, r9: arrays
}

void Assembler::leave() {
    release_stack();
    bytes({0x41, 0x5F, 0x41, 0x5E, 0x41, 0x5D, 0x41, 0x5C, 0x5D, 0x5B, 0xC3});
}

void Assembler::clear_words(const std::vector<std::uint32_t>& words) {
    bytes({0x0F, 0x57, 0xC0});  // xorps xmm0, xmm0
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i + 1 < words.size() && words[i + 1] == words[i] + 1) {
            bytes({0x0F, 0x11, 0x87});  // movups [rdi + d], xmm0
            number32(8 * std::uint64_t{words[i++]});
        } else {
            bytes({0x66, 0x0F, 0xD6, 0x87});  // movq [rdi + d], xmm0
            number32(8 * std::uint64_t{words[i]});
        }
    }
}

void Assembler::copy_words(const std::vector<std::uint32_t>& words, bool gather) {
    // ModRM of xmm0 with [rdi + d] and [rsi + d].
    const int from = gather ? 0x87 : 0x86;
    const int to = gather ? 0x86 : 0x87;
    for (std::size_t i = 0; i < words.size();) {
        const bool two = i + 1 < words.size() && words[i + 1] == words[i] + 1;
        const std::uint64_t slot = 8 * std::uint64_t{words[i]};
        two ? bytes({0x0F, 0x10, from}) : bytes({0xF3, 0x0F, 0x7E, from});  // movups, or movq xmm0, [..]
        number32(gather ? slot : 8 * i);
        two ? bytes({0x0F, 0x11, to}) : bytes({0x66, 0x0F, 0xD6, to});  // movups, or movq [..], xmm0
        number32(gather ? 8 * i : slot);
        i += two ? 2 : 1;
    }
}

void Assembler::set_words(const std::vector<std::uint32_t>& words) {
    for (const std::uint32_t word : words) {
        bytes({0x48, 0xC7, 0x87});  // mov qword [rdi + d], 1
        number32(8 * std::uint64_t{word});
        number32(1);
    }
}

void Assembler::fill_states(std::size_t count, std::uint32_t state) {
    bytes({0x48, 0xB8});  // mov rax, imm64
    number64(std::uint64_t{state} << 32 | state);
    for (std::size_t i = 0; i < count; i += 2) {
        if (i + 1 < count) bytes({0x48});
        bytes({0x89, 0x86});  // mov [rsi + d], rax, or eax
        number32(4 * i);
    }
}

void Assembler::leave_plain() {
    bytes({0xC3});
}

void Assembler::load(Word from) {
    load_other(kRax, from);
}

void Assembler::load_other(int reg, Word from) {
    bytes({0x48, 0x8B});
    address(reg, from);
}

void Assembler::store(Word to) {
    bytes({0x48, 0x89});
    address(kRax, to);
}

void Assembler::load_constant(std::uint64_t value) {
    if (value == 0) {
        bytes({0x31, 0xC0});  // xor eax, eax
    } else if (value <= UINT32_MAX) {
        bytes({0xB8});  // mov eax, imm32
        number32(value);
    } else {
        bytes({0x48, 0xB8});  // mov rax, imm64
        number64(value);
    }
}

void Assembler::store_constant(Word to, std::uint64_t value) {
    if (!is_small(value)) {
        load_constant(value);
        store(to);
        return;
    }
    bytes({0x48, 0xC7});  // mov qword [..], imm32
    address(0, to);
    number32(value);
}

void Assembler::alu(Alu op, Word with) {
    bytes({0x48, static_cast<int>(op)});
    address(kRax, with);
}

void Assembler::alu_constant(Alu op, std::uint64_t value) {
    if (op == Alu::kAnd && value == UINT64_MAX) return;
    if (op == Alu::kAnd && value == UINT32_MAX) {
        bytes({0x89, 0xC0});  // mov eax, eax
    } else if (is_small(value)) {
        bytes({0x48, static_cast<int>(op) + 2});  // the form with rax and imm32
        number32(value);
    } else {
        bytes({0x48, 0xB9});  // mov rcx, imm64
        number64(value);
        bytes({0x48, static_cast<int>(op), 0xC1});  // op rax, rcx
    }
}

void Assembler::multiply(Word with) {
    bytes({0x48, 0x0F, 0xAF});
    address(kRax, with);
}

void Assembler::multiply_constant(std::uint64_t value) {
    bytes({0x48, 0xB9});
    number64(value);
    bytes({0x48, 0x0F, 0xAF, 0xC1});
}

void Assembler::invert() {
    bytes({0x48, 0xF7, 0xD0});
}

void Assembler::shift_left(unsigned bits) {
    bytes({0x48, 0xC1, 0xE0, static_cast<int>(bits)});
}

void Assembler::shift_right(unsigned bits, bool with_sign) {
    bytes({0x48, 0xC1, with_sign ? 0xF8 : 0xE8, static_cast<int>(bits)});
}

void Assembler::flag(If condition) {
    bytes({0x0F, 0x90 | static_cast<int>(condition), 0xC0});  // setcc al
    bytes({0x0F, 0xB6, 0xC0});                                // movzx eax, al
}

void Assembler::test() {
    bytes({0x48, 0x85, 0xC0});
}

void Assembler::test_word(Word word) {
    bytes({0x48, 0x83});  // cmp qword [..], 0
    address(7, word);
    bytes({0x00});
}

void Assembler::truth() {
    test();
    flag(If::kNotEqual);
}

void Assembler::both(Word with) {
    truth();
    load_other(kRcx, with);
    bytes({0x48, 0x85, 0xC9});  // test rcx, rcx
    bytes({0x0F, 0x95, 0xC1});  // setne cl
    bytes({0x20, 0xC8});        // and al, cl
    bytes({0x0F, 0xB6, 0xC0});  // movzx eax, al
}

void Assembler::select(Word yes, Word no) {
    test();
    load_other(kRax, yes);  // leaves the flags alone
    load_other(kRcx, no);
    bytes({0x48, 0x0F, 0x44, 0xC1});  // cmove rax, rcx
}

void Assembler::clamp(std::uint64_t most) {
    bytes({0xB9});  // mov ecx, 0
    number32(0);
    test();
    bytes({0x48, 0x0F, 0x48, 0xC1});  // cmovs rax, rcx
    bytes({0x48, 0xB9});              // mov rcx, imm64
    number64(most);
    bytes({0x48, 0x39, 0xC8});        // cmp rax, rcx
    bytes({0x48, 0x0F, 0x4F, 0xC1});  // cmovg rax, rcx
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

void Assembler::jump_unless_below(std::uint64_t limit, Label to) {
    bytes({0x48, 0xB9});
    number64(limit);
    bytes({0x48, 0x39, 0xC8});  // cmp rax, rcx
    jump_if(If::kAboveEqual, to);
}

void Assembler::load_array(std::size_t array) {
    bytes({0x49, 0x8B, 0x8F});  // mov rcx, [r15 + d]
    number32(8 * array);
}

void Assembler::load_element(std::size_t array) {
    load_array(array);
    bytes({0x48, 0x8B, 0x04, 0xC1});  // mov rax, [rcx + 8 * rax]
}

void Assembler::store_element(std::size_t array, Word index) {
    load_other(kRdx, index);
    load_array(array);
    bytes({0x48, 0x89, 0x04, 0xD1});  // mov [rcx + 8 * rdx], rax
}

void Assembler::count_element(std::size_t array, std::size_t bytes_offset) {
    bytes({0x48, 0xC1, 0xE0, 0x04});  // shl rax, 4: two words an element
    load_array(array);
    bytes({0x48, 0xFF, 0x04, 0x01});  // inc qword [rcx + rax]
    bytes({0x41, 0x8B, 0x95});        // mov edx, [r13 + d]
    number32(bytes_offset);
    bytes({0x48, 0x01, 0x54, 0x01, 0x08});  // add [rcx + rax + 8], rdx
}

void Assembler::mark_dirty(std::uint32_t offset) {
    bytes({0x41, 0xC6, 0x84, 0x24});  // mov byte [r12 + d], 1
    number32(offset);
    bytes({0x01});
}

void Assembler::set_exit(std::size_t offset) {
    bytes({0x41, 0xC6, 0x85});  // mov byte [r13 + d], 1
    number32(offset);
    bytes({0x01});
}

void Assembler::jump_if_exit(std::size_t offset, Label to) {
    bytes({0x41, 0x80, 0xBD});  // cmp byte [r13 + d], 0
    number32(offset);
    bytes({0x00});
    jump_if(If::kNotEqual, to);
}

void Assembler::call(const void* function, const void* pointer, std::uint64_t number) {
    bytes({0x4C, 0x89, 0xF7});  // mov rdi, r14
    bytes({0x48, 0xBE});        // mov rsi, imm64
    number64(std::bit_cast<std::uint64_t>(pointer));
    bytes({0x48, 0xBA});  // mov rdx, imm64
    number64(number);
    bytes({0x48, 0x89, 0xE9});  // mov rcx, rbp
    bytes({0x4D, 0x89, 0xE8});  // mov r8, r13
    bytes({0x48, 0xB8});        // mov rax, imm64
    number64(std::bit_cast<std::uint64_t>(function));
    bytes({0xFF, 0xD0});
}

void Assembler::call_with_array(const void* function, std::size_t array) {
    bytes({0x4C, 0x89, 0xF7});  // mov rdi, r14
    bytes({0x49, 0x8B, 0xB7});  // mov rsi, [r15 + d]
    number32(8 * array);
    bytes({0x4C, 0x89, 0xEA});  // mov rdx, r13
    bytes({0x48, 0xB8});        // mov rax, imm64
    number64(std::bit_cast<std::uint64_t>(function));
    bytes({0xFF, 0xD0});        // call rax
    bytes({0x48, 0x89, 0xD5});  // mov rbp, rdx
}

void Assembler::call_on_stack(const void* function, std::uint64_t number, std::size_t stack_offset,
                              std::size_t size) {
    bytes({0xBF});  // mov edi, imm32
    number32(number);
    bytes({0x48, 0x8D});  // lea rsi, [rsp + d]
    stack_address(6, stack_offset);
    bytes({0xBA});  // mov edx, imm32
    number32(size);
    bytes({0x48, 0xB8});  // mov rax, imm64
    number64(std::bit_cast<std::uint64_t>(function));
    bytes({0xFF, 0xD0});
}

Assembler::Label Assembler::label() {
    labels_.push_back(SIZE_MAX);
    return labels_.size() - 1;
}

void Assembler::place(Label label) {
    labels_[label] = code_.size();
}

void Assembler::jump(Label to) {
    bytes({0xE9});
    fixups_.push_back({code_.size(), to});
    number32(0);
}

void Assembler::jump_if(If condition, Label to) {
    bytes({0x0F, 0x80 | static_cast<int>(condition)});
    fixups_.push_back({code_.size(), to});
    number32(0);
}

void Assembler::compare_result(std::uint32_t value) {
    bytes({0x3D});  // cmp eax, imm32
    number32(value);
}

const std::vector<std::uint8_t>& Assembler::finish() {
    for (const Fixup& fixup : fixups_) {
        const auto distance = static_cast<std::uint32_t>(labels_[fixup.label] - (fixup.at + 4));
        std::memcpy(&code_[fixup.at], &distance, sizeof distance);
    }
    fixups_.clear();
    return code_;
}

}  // namespace csaud::sw
