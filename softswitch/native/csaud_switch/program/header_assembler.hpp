// Instructions of parser and deparser, beside those of the assembler.
//
// Their code has slots, bytes of the packet from the present header on (rsi), states of headers (r12), the
// header's place in the buffer (r14); the parser's the number of bytes that are left (r13), the deparser's
// the buffer (r13).
#pragma once

#include <cstddef>
#include <cstdint>

#include "csaud_switch/program/machine_code.hpp"

namespace csaud::sw {

// Of one function.
class HeaderAssembler {
  public:
    using Label = Assembler::Label;

    explicit HeaderAssembler(Assembler& out) : out_(out) {}

    void enter_parser(std::size_t stack_words);
    void need_bytes(std::uint32_t count, Label otherwise);
    // It lies here; the next one behind it.
    void take_header(std::uint32_t state_offset, std::uint32_t count);
    void skip_header(std::uint32_t count);  // the same of bytes that are none
    void pass_bytes(std::uint32_t count);   // after a header's fields have been loaded
    void keep_error();                      // rax
    void set_bad();
    void leave_parser();  // place, error << 32, bad << 63

    void enter_deparser(std::size_t stack_words);
    // Goes back by a header's length; to one of two places where it does not lie here, or nothing was
    // written.
    void before_header(std::uint32_t state_offset, std::uint32_t count, Label elsewhere, Label clean);
    void leave_deparser(Label elsewhere);  // the place; UINT32_MAX from there

    // A field of 1 to 64 bits of the packet's bytes, big-endian, within 8 bytes from its first one.
    void load_field(std::uint32_t bit_offset, unsigned width);
    void store_field(std::uint32_t bit_offset, unsigned width);

  private:
    void keep_registers(std::size_t stack_words);
    void restore_registers();

    Assembler& out_;
};

}  // namespace csaud::sw
