// A program as machine code: conditions, actions, the way from one to the next, and the moves of headers.
//
// What has no code here is done by the interpreter, which the code calls: so the interpreter alone says what
// a program means, and nothing must be added here when it learns something new. On other processors than
// x86-64, and where a process may not make code, the interpreter does it all.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/program/machine_code.hpp"
#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

class Interpreter;

class CompiledProgram {
  public:
    using Code = void (*)(std::uint64_t* slots, const std::uint64_t* parameters, Packet* packet,
                          Interpreter* interpreter, HeaderState* headers, void* const* arrays);

    // Sets the words to 0 that have to be before a packet is parsed.
    using Clear = void (*)(std::uint64_t* slots);
    // A header's fields from or to its bytes.
    using Move = void (*)(std::uint64_t* slots, std::uint8_t* bytes);
    // The state of the parser that comes next.
    using Select = std::uint32_t (*)(std::uint64_t* slots, std::uint8_t* bytes);
    using Condition = std::uint64_t (*)(std::uint64_t* slots, const std::uint64_t* parameters, Packet* packet,
                                        Interpreter* interpreter, HeaderState* headers, void* const* arrays);

    // What the code calls.
    struct Hooks {
        // Applies a table of the program; which node comes next.
        std::uint32_t (*apply)(Interpreter*, const void*, std::uint64_t table,
                               const std::uint64_t* parameters, Packet*);
        // One primitive of an action.
        void (*execute)(Interpreter*, const Action*, std::uint64_t at, const std::uint64_t* parameters,
                        Packet*);
        std::uint64_t (*eval)(Interpreter*, const Expression*, std::uint64_t, const std::uint64_t* parameters,
                              Packet*);
    };

    // nullptr where code cannot be made. For all copies of the program, whose logic stays as long as the code
    // is used.
    static std::unique_ptr<const CompiledProgram> make(const Program& program, const Hooks& hooks);
    // The arrays of one of these copies, for its code; they stay where they are.
    static std::vector<void*> arrays_of(Program& program);

    Code action(std::uint32_t index) const { return actions_[index]; }
    Clear clear() const { return clear_; }
    Code ingress() const { return ingress_; }
    Code egress() const { return egress_; }
    // These are nullptr where the interpreter must do it.
    Move extract(std::uint32_t header) const { return extracts_[header]; }
    Move deposit(std::uint32_t header) const { return deposits_[header]; }
    Select select(std::size_t state) const { return selects_[state]; }
    Condition condition(std::uint32_t checksum) const { return conditions_[checksum]; }

  private:
    CodePages pages_;
    std::vector<Code> actions_;
    std::vector<Move> extracts_, deposits_;
    std::vector<Select> selects_;
    std::vector<Condition> conditions_;
    Clear clear_ = nullptr;
    Code ingress_ = nullptr;
    Code egress_ = nullptr;
};

}  // namespace csaud::sw
