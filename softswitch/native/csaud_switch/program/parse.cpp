// The parser, checksums, and the deparser's way.
#include <algorithm>
#include <array>

#include "csaud_switch/base/bits.hpp"
#include "csaud_switch/program/interpreter.hpp"

namespace csaud::sw {

namespace {

// masks: none when the whole key is compared.
bool is_member(const ValueSet& set, const std::vector<std::uint64_t>& masks, const std::uint64_t* key) {
    const std::size_t parts = set.widths.size();
    if (masks.empty()) {
        const auto at = std::lower_bound(
            set.members.begin(), set.members.end(), key,
            [parts](const std::vector<std::uint64_t>& member, const std::uint64_t* wanted) {
                return std::lexicographical_compare(member.begin(), member.end(), wanted, wanted + parts);
            });
        return at != set.members.end() && std::equal(at->begin(), at->end(), key);
    }
    for (const std::vector<std::uint64_t>& member : set.members) {
        bool match = true;
        for (std::size_t i = 0; i < parts; ++i) match &= (key[i] & masks[i]) == (member[i] & masks[i]);
        if (match) return true;
    }
    return false;
}

}  // namespace

bool Interpreter::extract(const ParserOp& op, std::uint32_t index, Packet& packet, std::uint32_t& parsed,
                          std::uint32_t& error) const {
    if (op.varbit) return extract_varbit(op, index, packet, parsed, error);
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

bool Interpreter::step(const ParserOp& op, Packet& packet, std::uint32_t& parsed, std::uint32_t& error) {
    const Parser& parser = logic_.parser;
    const Frame frame = frame_of(packet);
    const std::uint32_t left = packet.length - parsed;
    const std::uint8_t* here = packet.data() + parsed;
    switch (op.kind) {
        case ParserOp::Kind::kExtract:
        case ParserOp::Kind::kSet:
            break;  // see walk
        case ParserOp::Kind::kExtractStack: {
            const HeaderStack& stack = logic_.layout.stacks[op.stack];
            const auto element = static_cast<std::uint32_t>(packet.slots[stack.next_slot]);
            if (element >= stack.size) {
                error = parser.stack_out_of_bounds;
                return false;
            }
            if (!extract(op, stack.header(element, op.member), packet, parsed, error)) return false;
            ++packet.slots[stack.next_slot];
            return true;
        }
        case ParserOp::Kind::kSetVarbit:
            std::copy_n(&packet.slots[op.slot], 2, &packet.slots[op.target.slot]);
            return true;
        case ParserOp::Kind::kSetWide:
            assign_wide(op.target, op.a.eval_wide(frame), packet);
            return true;
        case ParserOp::Kind::kLookahead: {
            // The reference asks for as many bytes as the value has, wherever it starts.
            if (left < (op.width + 7) / 8) {
                error = parser.packet_too_short;
                return false;
            }
            std::array<std::uint64_t, 2> words{};
            if (op.bit_offset / 8 < left) extract_words(here, op.bit_offset, op.width, words.data());
            assign_wide(op.target, static_cast<Wide>(UWide{words[1]} << 64 | words[0]), packet);
            return true;
        }
        case ParserOp::Kind::kVerify:
            if (op.a.eval(frame) != 0) return true;
            error = static_cast<std::uint32_t>(op.b.eval(frame));
            return false;
        case ParserOp::Kind::kAdvance: {
            const std::uint64_t bits = op.a.eval(frame);
            if (bits % 8 != 0) {
                error = parser.invalid_argument;
                return false;
            }
            if (left < bits / 8) {
                error = parser.packet_too_short;
                return false;
            }
            parsed += static_cast<std::uint32_t>(bits / 8);
            return true;
        }
        case ParserOp::Kind::kPrimitive:
            execute(logic_.actions[op.action], nullptr, packet);
            return true;
    }
    return true;
}

std::uint32_t Interpreter::next_state(const ParserState& state, const Packet& packet,
                                      std::uint32_t parsed) const {
    if (state.transitions.empty()) return state.otherwise;
    std::array<std::uint64_t, 16> key;
    const std::size_t parts = state.key.size();
    for (std::size_t i = 0; i < parts; ++i) {
        const KeyPart& part = state.key[i];
        if (!part.lookahead) {
            key[i] = part.computed ? part.value.eval(frame_of(packet)) : packet.slots[part.slot];
            continue;
        }
        const std::uint32_t end = parsed + (part.bit_offset + part.width + 7) / 8;
        key[i] = end <= packet.length ? extract_bits(packet.data() + parsed, part.bit_offset, part.width) : 0;
    }
    for (const Transition& transition : state.transitions) {
        bool match = true;
        if (transition.set) {
            match = is_member(program_.value_sets[*transition.set], transition.masks, key.data());
        } else {
            for (std::size_t i = 0; i < parts; ++i)
                match &= (key[i] & transition.masks[i]) == transition.values[i];
        }
        if (match) return transition.next;
    }
    return state.otherwise;
}

std::uint32_t Interpreter::walk(Packet& packet, std::uint32_t& parsed) {
    std::uint32_t error = logic_.parser.no_error;
    // A loop that consumes nothing would never end; no packet needs this many states.
    constexpr int kMaxStates = 4096;
    std::uint32_t at = logic_.parser.start;
    for (int steps = 0; at != kAccept && steps < kMaxStates; ++steps) {
        const ParserState& state = logic_.parser.states[at];
        for (const ParserOp& op : state.ops) {
            // The two that nearly every packet needs, without a call in between.
            if (op.kind == ParserOp::Kind::kExtract) {
                if (!extract(op, op.header, packet, parsed, error)) return error;
            } else if (op.kind == ParserOp::Kind::kSet) {
                packet.slots[op.target.slot] = op.a.eval(frame_of(packet)) & op.mask;
                packet.headers[op.target.header].dirty = true;
            } else if (!step(op, packet, parsed, error)) {
                return error;
            }
        }
        at = next_state(state, packet, parsed);
    }
    return error;
}

void Interpreter::parse(Packet& packet) {
    if (const auto code = compiled_ ? compiled_->parse() : nullptr) {
        const std::uint64_t result =
            code(packet.slots.data(), packet.data(), packet.headers.data(), packet.length, packet.start);
        const auto place = static_cast<std::uint32_t>(result);
        packet.length -= place - packet.start;
        packet.start = place;
        set(packet, logic_.target.parser_error, result >> 32 & INT32_MAX);
        set(packet, logic_.target.checksum_error, result >> 63);
        return;
    }
    std::uint32_t parsed = 0;
    const std::uint32_t error = walk(packet, parsed);
    packet.start += parsed;
    packet.length -= parsed;
    set(packet, logic_.target.parser_error, error);
    set(packet, logic_.target.checksum_error, verify_checksums(packet) ? 0 : 1);
}

bool Interpreter::verify_checksums(Packet& packet) {
    bool good = true;
    for (const std::uint32_t index : logic_.verified) {
        const Checksum& checksum = logic_.checksums[index];
        if (!checksum.target_metadata && packet.slots[checksum.target_valid_slot] == 0) continue;
        if (!holds(checksum, packet)) continue;
        good &=
            logic_.calculations[checksum.calculation].compute(packet) == packet.slots[checksum.target.slot];
    }
    return good;
}

void Interpreter::deparse(Packet& packet) {
    if (const auto code = compiled_ ? compiled_->deparse() : nullptr) {
        const std::uint32_t first =
            code(packet.slots.data(), packet.headers.data(), packet.buffer.get(), packet.start);
        if (first != UINT32_MAX) {
            packet.length += packet.start - first;
            packet.start = first;
            return;
        }
    } else {
        update_checksums(packet);
    }
    writer_.write(packet);
}

void Interpreter::update_checksums(Packet& packet) {
    for (const std::uint32_t index : logic_.deparser.checksums) {
        const Checksum& checksum = logic_.checksums[index];
        if (!holds(checksum, packet)) continue;
        const std::uint64_t value = logic_.calculations[checksum.calculation].compute(packet);
        packet.slots[checksum.target.slot] = value & mask64(checksum.target.width);
        packet.headers[checksum.target.header].dirty = true;
    }
}

bool Interpreter::holds(const Checksum& checksum, const Packet& packet) {
    return !checksum.conditional || checksum.condition.eval(frame_of(packet)) != 0;
}

}  // namespace csaud::sw
