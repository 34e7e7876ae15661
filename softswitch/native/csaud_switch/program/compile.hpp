// A program as machine code: parser, conditions, actions, the way from one to the next, and deparser.
//
// What has no code here is done by the interpreter, which the code calls: so the interpreter alone says what
// a program means, and nothing must be added here when it learns something new. On other processors than
// x86-64, and where a process may not make code, the interpreter does it all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/program/code_pages.hpp"
#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

class Interpreter;

class CompiledProgram {
  public:
    using Code = void (*)(std::uint64_t* slots, const std::uint64_t* parameters, Packet* packet,
                          Interpreter* interpreter, HeaderState* headers,
                          void* const* arrays);  // see places.hpp

    // See header_code.hpp.
    using Begin = void (*)(std::uint64_t* slots, HeaderState* headers);
    using Keep = void (*)(const std::uint64_t* slots, std::uint64_t* kept);
    using Restore = void (*)(std::uint64_t* slots, const std::uint64_t* kept);
    using Parse = std::uint64_t (*)(std::uint64_t* slots, std::uint8_t* bytes, HeaderState* headers,
                                    std::uint32_t count, std::uint32_t place);
    using Deparse = std::uint32_t (*)(std::uint64_t* slots, HeaderState* headers, std::uint8_t* buffer,
                                      std::uint32_t place);

    // What comes of a table for a packet: the action, kEnd for none, and 2^32 where an entry was found; and
    // the action's parameters. Returned in two registers.
    struct Outcome {
        std::uint64_t action;
        const std::uint64_t* parameters;
    };

    // What the code calls.
    struct Hooks {
        Outcome (*resolve)(Interpreter*, Table*, Packet*);
        // One primitive of an action.
        void (*execute)(Interpreter*, const Action*, std::uint64_t at, const std::uint64_t* parameters,
                        Packet*);
        std::uint64_t (*eval)(Interpreter*, const Expression*, std::uint64_t, const std::uint64_t* parameters,
                              Packet*);
        std::uint64_t (*hash)(std::uint64_t algorithm, const std::uint8_t* bytes, std::size_t count);
    };

    // nullptr where code cannot be made. For all copies of the program, whose logic stays as long as the code
    // is used.
    static std::unique_ptr<const CompiledProgram> make(const Program& program, const Hooks& hooks);

    Begin begin() const { return begin_; }
    // What a queued packet needs of its slots; nullptr where it needs all.
    std::size_t kept_words() const { return kept_words_; }
    Keep keep() const { return keep_; }
    Restore restore() const { return restore_; }
    Code ingress() const { return ingress_; }
    Code egress() const { return egress_; }
    // These are nullptr where the interpreter must do it.
    Parse parse() const { return parse_; }
    Deparse deparse() const { return deparse_; }

  private:
    CodePages pages_;
    Begin begin_ = nullptr;
    std::size_t kept_words_ = 0;
    Keep keep_ = nullptr;
    Restore restore_ = nullptr;
    Parse parse_ = nullptr;
    Code ingress_ = nullptr;
    Code egress_ = nullptr;
    Deparse deparse_ = nullptr;
};

}  // namespace csaud::sw
