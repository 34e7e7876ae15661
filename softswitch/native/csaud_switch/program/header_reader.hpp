// What a parser extracts: from a packet's bytes to the words of one header. Its counterpart is HeaderWriter.
//
// A field of variable length stays in the packet's buffer; its two words say how many bits it has and where
// they are, so that copying the words copies the field.
#pragma once

#include <cstdint>

#include "csaud_switch/base/bits.hpp"
#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/program/header_ops.hpp"
#include "csaud_switch/program/logic.hpp"

namespace csaud::sw {

class HeaderReader {
  public:
    explicit HeaderReader(const Logic& logic) : logic_(logic) {}

    // The header that lies `parsed` bytes behind the packet's start; `parsed` moves behind it. False: `error`
    // says why it is not there. Here, as nearly every state of a parser does it.
    bool read(const ParserOp& extract, std::uint32_t index, Packet& packet, std::uint32_t& parsed,
              std::uint32_t& error) const {
        if (extract.varbit) return read_varbit(extract, index, packet, parsed, error);
        const HeaderCode& header = logic_.headers[index];
        if (packet.length - parsed < header.bytes) {
            error = logic_.parser.packet_too_short;
            return false;
        }
        const std::uint8_t* here = packet.data() + parsed;
        for (const FieldMove& move : header.extract)
            extract_words(here, move.bit_offset, move.width, &packet.slots[move.slot]);
        HeaderOps::mark_valid(header, packet);
        packet.headers[index] = {static_cast<std::uint16_t>(packet.start + parsed), false};
        parsed += header.bytes;
        return true;
    }

  private:
    bool read_varbit(const ParserOp& extract, std::uint32_t index, Packet& packet, std::uint32_t& parsed,
                     std::uint32_t& error) const;

    const Logic& logic_;
};

}  // namespace csaud::sw
