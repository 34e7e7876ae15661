// Headers and the parser's choices as machine code.
#pragma once

#include "csaud_switch/model/layout.hpp"
#include "csaud_switch/program/machine_code.hpp"
#include "csaud_switch/program/parser.hpp"

namespace csaud::sw {

// Each writes a function of the form (slots, bytes of the header) and says true, or writes nothing and says
// false.

// From bytes to slots, the fields that the program uses.
bool write_extract(Assembler& out, const HeaderCode& header);
// From slots to bytes, those that it writes.
bool write_deposit(Assembler& out, const HeaderCode& header);
// Which state comes next.
bool write_select(Assembler& out, const ParserState& state);

}  // namespace csaud::sw
