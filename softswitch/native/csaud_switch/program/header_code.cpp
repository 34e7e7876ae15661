#include "csaud_switch/program/header_code.hpp"

#include <algorithm>
#include <vector>

#include "csaud_switch/base/value.hpp"

namespace csaud::sw {

namespace {

// A field of two words is two fields; false when one of them does not lie within 8 bytes.
bool split(const std::vector<FieldMove>& moves, std::vector<FieldMove>& out) {
    for (const FieldMove& move : moves) {
        if (move.width > 64) {
            out.push_back({move.slot + 1, move.bit_offset, move.width - 64});
            out.push_back({move.slot, move.bit_offset + move.width - 64, 64});
        } else {
            out.push_back(move);
        }
    }
    return std::all_of(out.begin(), out.end(),
                       [](const FieldMove& move) { return move.bit_offset % 8 + move.width <= 64; });
}

}  // namespace

bool write_extract(Assembler& out, const HeaderCode& header) {
    std::vector<FieldMove> moves;
    if (!split(header.extract, moves)) return false;
    out.enter_leaf();
    for (const FieldMove& move : moves) {
        out.load_field(move.bit_offset, move.width);
        out.store({Assembler::Base::kSlots, move.slot});
    }
    out.leave_leaf();
    return true;
}

bool write_deposit(Assembler& out, const HeaderCode& header) {
    std::vector<FieldMove> moves;
    if (!split(header.deposit, moves)) return false;
    out.enter_leaf();
    for (const FieldMove& move : moves) {
        out.load({Assembler::Base::kSlots, move.slot});
        out.store_field(move.bit_offset, move.width);
    }
    out.leave_leaf();
    return true;
}

bool write_select(Assembler& out, const ParserState& state) {
    for (const KeyPart& part : state.key)
        if (part.lookahead || part.computed)
            return false;  // of the packet's bytes, of a stack's last element
    for (const Transition& transition : state.transitions)
        if (transition.set || transition.values.size() != state.key.size() ||
            transition.masks.size() != state.key.size())
            return false;
    out.enter_leaf();
    const Assembler::Label end = out.label();
    for (const Transition& transition : state.transitions) {
        const Assembler::Label another = out.label();
        for (std::size_t i = 0; i < state.key.size(); ++i) {
            if (transition.masks[i] == 0 && transition.values[i] == 0) continue;
            out.load({Assembler::Base::kSlots, state.key[i].slot});
            // A key has no more bits than its field.
            if (transition.masks[i] != mask64(state.key[i].width))
                out.alu_constant(Assembler::Alu::kAnd, transition.masks[i]);
            out.alu_constant(Assembler::Alu::kCmp, transition.values[i]);
            out.jump_if(Assembler::If::kNotEqual, another);
        }
        out.load_constant(transition.next);
        out.jump(end);
        out.place(another);
    }
    out.load_constant(state.otherwise);
    out.place(end);
    out.leave_leaf();
    return true;
}

}  // namespace csaud::sw
