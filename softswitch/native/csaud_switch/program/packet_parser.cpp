#include "csaud_switch/program/packet_parser.hpp"

#include <algorithm>
#include <array>

#include "csaud_switch/base/bits.hpp"
#include "csaud_switch/program/packet_fields.hpp"

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

std::uint32_t PacketParser::parse(Packet& packet) {
    std::uint32_t parsed = 0;
    const std::uint32_t error = walk(packet, parsed);
    packet.start += parsed;
    packet.length -= parsed;
    return error;
}

std::uint32_t PacketParser::walk(Packet& packet, std::uint32_t& parsed) {
    std::uint32_t error = logic_.parser.no_error;
    // A loop that consumes nothing would never end; no packet needs this many states.
    constexpr int kMaxStates = 4096;
    std::uint32_t at = logic_.parser.start;
    for (int steps = 0; at != kAccept && steps < kMaxStates; ++steps) {
        const ParserState& state = logic_.parser.states[at];
        for (const ParserOp& op : state.ops) {
            // The two that nearly every packet needs, without a call in between.
            if (op.kind == ParserOp::Kind::kExtract) {
                if (!headers_.read(op, op.header, packet, parsed, error)) return error;
            } else if (op.kind == ParserOp::Kind::kSet) {
                assign(op.target, op.mask, op.a.eval(frame_of(packet)), packet);
            } else if (!step(op, packet, parsed, error)) {
                return error;
            }
        }
        at = next_state(state, packet, parsed);
    }
    return error;
}

bool PacketParser::step(const ParserOp& op, Packet& packet, std::uint32_t& parsed, std::uint32_t& error) {
    const Parser& parser = logic_.parser;
    const Frame frame = frame_of(packet);
    const std::uint32_t left = packet.length - parsed;
    const std::uint8_t* here = packet.data() + parsed;
    switch (op.kind) {
        case ParserOp::Kind::kExtract:
        case ParserOp::Kind::kSet:
            break;  // see walk
        case ParserOp::Kind::kExtractStack:
            return extract_element(op, packet, parsed, error);
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
            actions_.execute(logic_.actions[op.action], nullptr, packet);
            return true;
    }
    return true;
}

bool PacketParser::extract_element(const ParserOp& op, Packet& packet, std::uint32_t& parsed,
                                   std::uint32_t& error) const {
    const HeaderStack& stack = logic_.layout.stacks[op.stack];
    const auto element = static_cast<std::uint32_t>(packet.slots[stack.next_slot]);
    if (element >= stack.size) {
        error = logic_.parser.stack_out_of_bounds;
        return false;
    }
    if (!headers_.read(op, stack.header(element, op.member), packet, parsed, error)) return false;
    ++packet.slots[stack.next_slot];
    return true;
}

std::uint32_t PacketParser::next_state(const ParserState& state, const Packet& packet,
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

}  // namespace csaud::sw
