// The parser as a graph of states.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "csaud_switch/model/layout.hpp"
#include "csaud_switch/model/state.hpp"
#include "csaud_switch/program/action.hpp"
#include "csaud_switch/program/expression.hpp"

namespace csaud::sw {

struct ParserOp {
    enum class Kind : std::uint8_t {
        kExtract,
        kExtractStack,  // into the next element's member
        kSet,
        kSetWide,
        kSetVarbit,
        kLookahead,
        kVerify,
        kAdvance,
        kPrimitive
    };
    Kind kind = Kind::kExtract;
    bool varbit = false;  // an extract into a header with a field of variable length, of `a` bits
    std::uint32_t header = 0;
    std::uint32_t stack = 0;
    std::uint32_t member = 0;
    std::uint32_t slot = 0;  // set of a field of variable length: from this one
    FieldRef target;
    std::uint64_t mask = 0;
    std::uint32_t bit_offset = 0;  // lookahead, from the present position
    unsigned width = 0;
    Expression a, b;           // set: a; verify: condition a, error b; advance: bits a; extract: bits a
    std::uint32_t action = 0;  // one primitive, as an action
};

struct KeyPart {
    bool lookahead = false;
    bool computed = false;
    Expression value;  // a field of a stack's last element
    std::uint32_t slot = 0;
    std::uint32_t bit_offset = 0;
    unsigned width = 0;  // 64 at most
};

struct Transition {
    // one per part of the key
    std::vector<std::uint64_t> values;
    std::vector<std::uint64_t> masks;
    std::optional<std::uint32_t> set;  // of the value sets of the program, instead of values
    std::uint32_t next = 0;
};

inline constexpr std::uint32_t kAccept = UINT32_MAX;

struct ParserState {
    std::string name;
    std::vector<ParserOp> ops;
    std::vector<KeyPart> key;
    std::vector<Transition> transitions;
    std::uint32_t otherwise = kAccept;
};

struct Parser {
    std::vector<ParserState> states;
    std::uint32_t start = kAccept;
    // codes of the core library's errors in this program
    std::uint32_t no_error = 0;
    std::uint32_t packet_too_short = 1;
    std::uint32_t stack_out_of_bounds = 3;
    std::uint32_t header_too_short = 4;
    std::uint32_t invalid_argument = 6;
};

}  // namespace csaud::sw
