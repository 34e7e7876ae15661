// Headers with a field of variable length. Such a field stays in the packet's buffer; its two words say how
// many bits it has and where they are, so that copying the words copies the field.
#include "csaud_switch/base/bits.hpp"
#include "csaud_switch/program/interpreter.hpp"

namespace csaud::sw {

bool Interpreter::extract_varbit(const ParserOp& op, std::uint32_t index, Packet& packet,
                                 std::uint32_t& parsed, std::uint32_t& error) const {
    const Parser& parser = logic_.parser;
    const HeaderCode& header = logic_.headers[index];
    const std::uint64_t bits = op.a.eval(frame_of(packet));
    if (bits % 8 != 0) {
        error = parser.invalid_argument;
        return false;
    }
    if (packet.length - parsed < header.bytes || (packet.length - parsed - header.bytes) < bits / 8) {
        error = parser.packet_too_short;
        return false;
    }
    if (bits / 8 > header.varbit_bytes) {
        error = parser.header_too_short;
        return false;
    }
    const std::uint8_t* here = packet.data() + parsed;
    for (const FieldMove& move : header.extract) {
        const bool behind = move.bit_offset >= header.varbit_offset;
        extract_words(here, move.bit_offset + (behind ? static_cast<std::uint32_t>(bits) : 0), move.width,
                      &packet.slots[move.slot]);
    }
    packet.slots[header.varbit_slot] = bits;
    packet.slots[header.varbit_slot + 1] = 8 * (packet.start + parsed) + header.varbit_offset;
    HeaderOps::mark_valid(header, packet);
    packet.headers[index] = {kNoBytes, true};
    parsed += header.bytes + static_cast<std::uint32_t>(bits / 8);
    return true;
}

}  // namespace csaud::sw
