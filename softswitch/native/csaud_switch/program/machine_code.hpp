// Machine code for x86-64, as bytes.
//
// Only the few instructions that programs are compiled to (see compile.hpp). Values are 64-bit words in rax;
// rcx and rdx are free for use within an instruction's code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace csaud::sw {

class Assembler {
  public:
    // Where words lie: the packet's slots (rbx), the action's parameters (rbp), the stack (rsp). The switch's
    // arrays, which code for several switches cannot know, are found in a list (r15).
    enum class Base : std::uint8_t { kSlots, kParameters, kStack };
    struct Word {
        Base base;
        std::uint32_t index;
    };
    static Word slot(std::uint32_t index) { return {Base::kSlots, index}; }
    // Operations of rax with another word.
    enum class Alu : std::uint8_t {
        kAdd = 0x03,
        kOr = 0x0B,
        kAnd = 0x23,
        kSub = 0x2B,
        kXor = 0x33,
        kCmp = 0x3B
    };
    // Conditions after a comparison, as in setcc and jcc.
    enum class If : std::uint8_t {
        kBelow = 2,
        kAboveEqual = 3,
        kEqual = 4,
        kNotEqual = 5,
        kBelowEqual = 6,
        kLess = 12,
        kGreaterEqual = 13,
        kLessEqual = 14,
        kGreater = 15,
    };
    using Label = std::size_t;

    std::size_t size() const { return code_.size(); }
    // Of an instruction that has no name here; numbers are little-endian.
    void bytes(std::initializer_list<int> list);
    void number32(std::uint64_t value);
    void number64(std::uint64_t value);
    // After an even number of registers was pushed: so many words, and the stack stays aligned.
    void reserve_stack(std::size_t words);
    void release_stack();

    void enter(std::size_t stack_words);  // keeps the registers, takes the arguments over
    void leave();

    // Of code that has slots (rdi) and states of headers (rsi): sets the words given, in ascending order, to
    // 0.
    void clear_words(const std::vector<std::uint32_t>& words);
    void set_words(const std::vector<std::uint32_t>& words);  // to 1
    void fill_states(std::size_t count, std::uint32_t state);
    // Of code that has slots (rdi) and room for as many words as are given, in ascending order (rsi): from
    // there to here, or back.
    void gather_words(const std::vector<std::uint32_t>& words) { copy_words(words, true); }
    void scatter_words(const std::vector<std::uint32_t>& words) { copy_words(words, false); }
    void leave_plain();

    // A number of whole bytes, big-endian, to the stack; may write up to eight.
    void put_bytes(std::size_t stack_offset, unsigned bytes);
    // Adds a word, shifted, to rax.
    void add_shifted(Word word, unsigned shift);
    void fold_to_16_bits();  // a sum in ones' complement; leaves its complement

    void load(Word from);  // rax = word
    void store(Word to);
    void load_constant(std::uint64_t value);
    void store_constant(Word to, std::uint64_t value);
    void alu(Alu op, Word with);
    void alu_constant(Alu op, std::uint64_t value);
    void multiply(Word with);
    void multiply_constant(std::uint64_t value);
    void invert();
    void shift_left(unsigned bits);
    void shift_right(unsigned bits, bool with_sign);
    void flag(If condition);  // rax = condition ? 1 : 0
    void truth();             // rax = rax != 0
    void both(Word with);     // rax = rax != 0 && word != 0
    void select(Word yes, Word no);
    void clamp(std::uint64_t most);  // rax = min(max(rax, 0), most), with sign

    // rax is an index: jump when it is not below the limit; then load or store the word of an array.
    void jump_unless_below(std::uint64_t limit, Label to);
    void load_element(std::size_t array);
    void store_element(std::size_t array, Word index);
    void count_element(std::size_t array, std::size_t bytes_offset);  // packets and bytes of a counter

    void mark_dirty(std::uint32_t offset);  // a byte of the packet's header states
    void set_exit(std::size_t offset);
    void jump_if_exit(std::size_t offset, Label to);

    // A function of C++ of the interpreter, an element of the list of arrays and the packet: rax is one half
    // of its result, the other one becomes the parameters.
    void call_with_array(const void* function, std::size_t array);
    // A function of C++ of a number, bytes on the stack and how many.
    void call_on_stack(const void* function, std::uint64_t number, std::size_t stack_offset,
                       std::size_t size);
    // A function of C++; its arguments are the interpreter, a pointer, a number, the parameters, the packet.
    void call(const void* function, const void* pointer, std::uint64_t number);

    Label label();
    void place(Label label);
    void jump(Label to);
    void jump_if(If condition, Label to);
    void compare_result(std::uint32_t value);  // of a function, 32 bits
    void test();                               // rax with itself
    void test_word(Word word);                 // a word with 0

    // All labels are placed.
    const std::vector<std::uint8_t>& finish();

  private:
    void copy_words(const std::vector<std::uint32_t>& words, bool gather);
    void address(int reg, Word word);
    void stack_address(int reg, std::size_t offset);
    void load_other(int reg, Word from);
    void load_array(std::size_t array);
    static bool is_small(std::uint64_t value);

    struct Fixup {
        std::size_t at;
        Label label;
    };
    std::vector<std::uint8_t> code_;
    std::vector<std::size_t> labels_;
    std::vector<Fixup> fixups_;
    std::size_t stack_bytes_ = 0;
};

}  // namespace csaud::sw
