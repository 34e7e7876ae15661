// Checksums as machine code.
#pragma once

#include "csaud_switch/program/logic.hpp"
#include "csaud_switch/program/machine_code.hpp"

namespace csaud::sw {

// Whether there is code for a checksum, its condition included.
bool has_code(const Logic& logic, const Checksum& checksum);
// Stack words that its condition needs.
std::uint32_t words_of(const Checksum& checksum);
// Goes to `good` where there is nothing to verify, and where it is right.
void write_verification(Assembler& out, const Logic& logic, const Checksum& checksum, Assembler::Label good);
void write_update(Assembler& out, const Logic& logic, const Checksum& checksum);

}  // namespace csaud::sw
