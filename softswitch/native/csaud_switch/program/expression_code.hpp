// Expressions as machine code.
#pragma once

#include <cstddef>

#include "csaud_switch/program/expression.hpp"
#include "csaud_switch/program/machine_code.hpp"

namespace csaud::sw {

class ExpressionCode {
  public:
    // Stack words that any expression of this many instructions needs.
    static constexpr std::uint32_t kScratch = 2;

    // first_word: of the stack, free for temporaries.
    ExpressionCode(Assembler& out, std::uint32_t first_word) : out_(out), first_(first_word) {}

    // Leaves the value in rax. False, with nothing written, where an instruction has no code.
    bool write(const Expression& expression);
    // Goes on where the value is not 0, elsewhere where it is. Of an expression that can be written.
    void jump_unless(const Expression& expression, Assembler::Label elsewhere);
    // Whether it can, without writing anything.
    static bool can_write(const Expression& expression);
    // Stack words that it needs.
    static std::uint32_t words(const Expression& expression);

  private:
    using Word = Assembler::Word;

    static Expression::Code ordered(const Expression::Code& code);
    void steps(const Expression::Code& code, std::size_t count);
    void step(const Instruction& instruction);
    void load(const Operand& operand);
    bool is_held(const Operand& operand) const;
    Word word(const Operand& operand, std::uint32_t scratch);
    void alu(Assembler::Alu op, const Operand& b);
    std::uint64_t constant(const Operand& operand) const { return code_->constants[operand.index]; }

    Assembler& out_;
    std::uint32_t first_;
    const Expression::Code* code_ = nullptr;
    std::uint32_t held_ = UINT32_MAX;  // the temporary that rax holds
};

}  // namespace csaud::sw
