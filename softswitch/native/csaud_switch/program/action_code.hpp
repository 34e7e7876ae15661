// Actions as machine code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "csaud_switch/program/compile.hpp"
#include "csaud_switch/program/expression_code.hpp"
#include "csaud_switch/program/machine_code.hpp"
#include "csaud_switch/program/places.hpp"

namespace csaud::sw {

class ActionCode {
  public:
    ActionCode(Assembler& out, const Program& program, const CompiledProgram::Hooks& hooks,
               const Places& places)
        : out_(out), program_(program), logic_(*program.logic), hooks_(hooks), places_(places) {}

    // Whether all jumps of an action lead to places that are known.
    static bool is_plain(const Action& action);
    static bool may_exit(const Action& action);
    // Stack words that it needs.
    std::uint32_t words_of(const Action& action) const;

    // Its primitives, one after the other; what has no code is left to the interpreter.
    void write(const Action& action);
    // Behind one that may exit.
    void jump_if_exit(Assembler::Label to);
    // Leaves the value in rax. first_word: of the stack, free for temporaries.
    void value(const Expression& expression, std::uint32_t first_word);
    // Goes on where the value is not 0.
    void jump_unless(const Expression& expression, Assembler::Label elsewhere);

  private:
    void primitive(const Action& action, std::size_t at, const std::vector<Assembler::Label>& places);
    bool has_code(const Primitive& hash) const;
    void hash(const Primitive& primitive);
    void assign(const Primitive& primitive);
    void mark_dirty(const Primitive& primitive);

    Assembler& out_;
    const Program& program_;
    const Logic& logic_;
    const CompiledProgram::Hooks& hooks_;
    const Places& places_;
};

}  // namespace csaud::sw
