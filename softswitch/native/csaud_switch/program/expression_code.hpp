// Expressions as machine code.
#pragma once

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
    // The same without writing anything.
    static bool can_write(const Expression& expression);
    // Stack words that it needs.
    static std::uint32_t words(const Expression& expression);

  private:
    using Word = Assembler::Word;

    void step(const Instruction& instruction, std::uint32_t number);
    void load(const Operand& operand);
    bool is_held(const Operand& operand) const;
    Word word(const Operand& operand, std::uint32_t scratch);
    void alu(Assembler::Alu op, const Operand& b);
    void compare(const Operand& b, Assembler::If condition);
    std::uint64_t constant(const Operand& operand) const { return code_->constants[operand.index]; }

    Assembler& out_;
    std::uint32_t first_;
    const Expression::Code* code_ = nullptr;
    std::uint32_t held_ = UINT32_MAX;  // the temporary that rax holds
};

}  // namespace csaud::sw
