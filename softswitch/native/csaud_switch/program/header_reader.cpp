#include "csaud_switch/program/header_reader.hpp"

#include "csaud_switch/program/packet_fields.hpp"

namespace csaud::sw {

bool HeaderReader::read_varbit(const ParserOp& extract, std::uint32_t index, Packet& packet,
                               std::uint32_t& parsed, std::uint32_t& error) const {
    const Parser& parser = logic_.parser;
    const HeaderCode& header = logic_.headers[index];
    const std::uint64_t bits = extract.a.eval(frame_of(packet));
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
