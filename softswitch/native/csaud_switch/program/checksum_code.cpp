#include "csaud_switch/program/checksum_code.hpp"

#include <cstddef>

#include "csaud_switch/program/expression_code.hpp"

namespace csaud::sw {

namespace {

using Alu = Assembler::Alu;
using If = Assembler::If;
using Label = Assembler::Label;

// Leaves it in rax: what Calculation::compute says of lanes.
void write_value(Assembler& out, const Calculation& calculation) {
    const Label done = out.label();
    if (!calculation.lanes_always) {
        const Label there = out.label();
        out.test_word(Assembler::slot(calculation.lanes_valid_slot));
        out.jump_if(If::kNotEqual, there);
        out.load_constant(0xFFFF);  // of nothing
        out.jump(done);
        out.place(there);
    }
    out.load_constant(calculation.lanes_constant);
    for (const Calculation::Lane& lane : calculation.lanes)
        out.add_shifted(Assembler::slot(lane.slot), lane.shift);
    out.fold_to_16_bits();
    out.place(done);
}

void write_condition(Assembler& out, const Checksum& checksum, Label otherwise) {
    if (checksum.conditional) ExpressionCode(out, 0).jump_unless(checksum.condition, otherwise);
}

}  // namespace

bool has_code(const Logic& logic, const Checksum& checksum) {
    return !logic.calculations[checksum.calculation].lanes.empty() && checksum.target.width <= 64 &&
           (!checksum.conditional || ExpressionCode::can_write(checksum.condition));
}

std::uint32_t words_of(const Checksum& checksum) {
    return checksum.conditional ? ExpressionCode::words(checksum.condition) : 0;
}

void write_verification(Assembler& out, const Logic& logic, const Checksum& checksum, Label good) {
    if (!checksum.target_metadata) {
        out.test_word(Assembler::slot(checksum.target_valid_slot));
        out.jump_if(If::kEqual, good);
    }
    write_condition(out, checksum, good);
    write_value(out, logic.calculations[checksum.calculation]);
    out.alu(Alu::kCmp, Assembler::slot(checksum.target.slot));
    out.jump_if(If::kEqual, good);
}

void write_update(Assembler& out, const Logic& logic, const Checksum& checksum) {
    const Label done = out.label();
    write_condition(out, checksum, done);
    write_value(out, logic.calculations[checksum.calculation]);
    out.alu_constant(Alu::kAnd, mask64(checksum.target.width));
    out.store(Assembler::slot(checksum.target.slot));
    out.mark_dirty(static_cast<std::uint32_t>(checksum.target.header * sizeof(HeaderState) +
                                              offsetof(HeaderState, dirty)));
    out.place(done);
}

}  // namespace csaud::sw
