// Parser and deparser as machine code: all of a program's, or none.
#pragma once

#include <cstdint>
#include <vector>

#include "csaud_switch/program/logic.hpp"
#include "csaud_switch/program/machine_code.hpp"
#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

// (slots, headers): what a program may read before it writes it becomes 0, metadata valid, all headers not
// there.
void write_beginning(Assembler& out, const Program& program);

// (slots, as many words as are given): copies those words there, and another function that copies them back.
void write_keeping(Assembler& out, const std::vector<std::uint32_t>& words);
void write_restoring(Assembler& out, const std::vector<std::uint32_t>& words);

// Each writes a function and says true, or writes nothing and says false: where a header or state of the
// program needs what is only interpreted, such as stacks of headers, fields of variable length and value
// sets.

// (slots, bytes, headers, how many bytes, place of the first in the buffer); checksums are verified.
// Returns the place behind what was parsed | error << 32 | a wrong checksum << 63.
bool write_parser(Assembler& out, const Logic& logic);
// (slots, headers, buffer, place of the payload); checksums are updated, and fields that were written put
// where their headers lie. Returns the place of the first header; UINT32_MAX where they have to be put
// together anew.
bool write_deparser(Assembler& out, const Logic& logic);

}  // namespace csaud::sw
