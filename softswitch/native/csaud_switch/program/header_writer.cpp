#include "csaud_switch/program/header_writer.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "csaud_switch/base/bits.hpp"
#include "csaud_switch/program/header_ops.hpp"

namespace csaud::sw {

void HeaderWriter::deposit(std::uint32_t index, const Packet& packet, std::uint8_t* to) const {
    for (const FieldMove& move : logic_.headers[index].deposit)
        deposit_words(to, move.bit_offset, move.width, &packet.slots[move.slot]);
}

std::uint8_t* HeaderWriter::deposit_varbit(const HeaderCode& header, const Packet& packet,
                                           std::uint8_t* out) const {
    const auto bits = static_cast<std::uint32_t>(packet.slots[header.varbit_slot]);
    auto from = static_cast<std::uint32_t>(packet.slots[header.varbit_slot + 1]);
    const std::uint32_t bytes = header.bytes + bits / 8;
    std::memset(out, 0, bytes);
    for (const FieldMove& move : header.deposit) {
        const bool behind = move.bit_offset >= header.varbit_offset;
        deposit_words(out, move.bit_offset + (behind ? bits : 0), move.width, &packet.slots[move.slot]);
    }
    std::uint32_t to = header.varbit_offset;
    for (std::uint32_t left = bits; left > 0;) {
        const unsigned width = std::min<std::uint32_t>(left, 32);
        deposit_bits(out, to, width, extract_bits(packet.buffer.get(), from, width));
        from += width;
        to += width;
        left -= width;
    }
    return out + bytes;
}

// The bytes of all valid headers, one after the other, as they were extracted.
void HeaderWriter::put_together(Packet& packet, std::uint32_t first) const {
    std::array<std::uint8_t, kHeadroom + kSlack> whole;
    std::uint8_t* out = whole.data();
    for (const std::uint32_t index : logic_.deparser.order) {
        const HeaderCode& header = logic_.headers[index];
        if (packet.slots[header.valid_slot] == 0) continue;
        if (header.varbit) {
            out = deposit_varbit(header, packet, out);
            continue;
        }
        const std::uint16_t from = packet.headers[index].bytes_at;
        if (from != kNoBytes) {
            std::memcpy(out, packet.buffer.get() + from, header.bytes);
        } else {
            std::memset(out, 0, header.bytes);
        }
        out += header.bytes;
    }
    std::memcpy(packet.buffer.get() + first, whole.data(), static_cast<std::size_t>(out - whole.data()));
}

void HeaderWriter::write(Packet& packet) const {
    // Headers that still lie where they will be sent from are patched in place; else all are put together
    // anew. From the last one back, as the payload is what they end at.
    const std::vector<std::uint32_t>& order = logic_.deparser.order;
    const std::uint32_t end = packet.start;
    std::uint32_t first = end;
    bool in_place = true;
    bool dirty = false;
    for (auto index = order.rbegin(); index != order.rend(); ++index) {
        const HeaderCode& header = logic_.headers[*index];
        if (packet.slots[header.valid_slot] == 0) continue;
        first -= HeaderOps::length(header, packet);
        in_place &= packet.headers[*index].bytes_at == first && !header.varbit;
        dirty |= packet.headers[*index].dirty;
    }
    if (!in_place) put_together(packet, first);
    packet.start = first;
    packet.length += end - first;
    if (!dirty) return;

    std::uint32_t at = first;
    for (const std::uint32_t index : order) {
        const HeaderCode& header = logic_.headers[index];
        if (packet.slots[header.valid_slot] == 0) continue;
        if (packet.headers[index].dirty && !header.varbit) deposit(index, packet, packet.buffer.get() + at);
        at += HeaderOps::length(header, packet);
    }
}

}  // namespace csaud::sw
