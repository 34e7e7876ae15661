#include "csaud_switch/program/word_use.hpp"

#include <algorithm>

namespace csaud::sw {

void add_words(WordList& words, std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) words.push_back(first + i);
}

void add_field(WordList& words, const FieldRef& field) {
    add_words(words, field.slot, words_for(field.width));
}

WordUse::WordUse(const Program& program, bool whole_headers)
    : program_(program), logic_(*program.logic), whole_headers_(whole_headers) {
    for (const Header& header : logic_.layout.headers) {
        width_.resize(std::max<std::size_t>(width_.size(), header.first_slot + header.slot_count), 64);
        for (const Field& field : header.fields)
            if (!field.opaque && !field.varbit) width_[field.slot] = field.width;
        understood_ &= !header.varbit.has_value();
    }
    understood_ &= logic_.layout.stacks.empty() && logic_.layout.unions.empty();
}

void WordUse::read(const Expression& expression, WordList& reads) {
    understood_ &= expression.reads(reads);
}

void WordUse::add_header(std::uint32_t header, WordList& words) const {
    add_words(words, logic_.headers[header].first_slot, logic_.headers[header].slot_count);
}

void WordUse::read_calculation(const Calculation& calculation, WordList& reads) const {
    for (const CalculationInput& input : calculation.inputs)
        if (input.kind == CalculationInput::Kind::kField && (input.always || whole_headers_))
            add_words(reads, input.slot, words_for(input.width));
}

void WordUse::read_checksum(const Checksum& checksum, WordList& reads) {
    read_calculation(logic_.calculations[checksum.calculation], reads);
    if (checksum.conditional) read(checksum.condition, reads);
}

void WordUse::read_table(const Table& table, WordList& reads) const {
    for (const KeyField& key : table.keys) add_field(reads, key.source);
    if (table.profile && program_.profiles[*table.profile]->selector)
        read_calculation(*program_.profiles[*table.profile]->selector, reads);
}

void WordUse::primitive(const Primitive& p, WordList& reads, WordList& writes) {
    read(p.a, reads);
    read(p.b, reads);
    switch (p.op) {
        case PrimitiveOp::kAssignConstant:
        case PrimitiveOp::kAssignSlot:
        case PrimitiveOp::kAssign:
        case PrimitiveOp::kAssignWide:
            add_field(writes, p.target);
            return;
        case PrimitiveOp::kHash:
            read_calculation(logic_.calculations[p.index], reads);
            add_field(writes, p.target);
            return;
        case PrimitiveOp::kRegisterRead:
            if (is_below(p.a, program_.registers[p.index].size)) add_field(writes, p.target);
            return;
        case PrimitiveOp::kMarkToDrop:
            add_field(writes, p.target);
            add_words(writes, p.index, p.other);
            return;
        case PrimitiveOp::kAssignHeader:
            reads.push_back(logic_.headers[p.other].valid_slot);
            if (!whole_headers_) return;
            add_header(p.other, reads);
            add_header(p.index, writes);
            return;
        case PrimitiveOp::kAssert:
        case PrimitiveOp::kLog:
            for (const Expression& value : p.message->values) read(value, reads);
            return;
        // These write nothing, or not always.
        case PrimitiveOp::kClone:
        case PrimitiveOp::kAddHeader:
        case PrimitiveOp::kRemoveHeader:
        case PrimitiveOp::kRandom:
        case PrimitiveOp::kRegisterWrite:
        case PrimitiveOp::kCount:
        case PrimitiveOp::kTruncate:
        case PrimitiveOp::kExit:
        case PrimitiveOp::kResubmit:
        case PrimitiveOp::kRecirculate:
        case PrimitiveOp::kDigest:
        case PrimitiveOp::kMeter:
        case PrimitiveOp::kJumpIfZero:
        case PrimitiveOp::kNothing:
            return;
        default:
            understood_ = false;
    }
}

// Whether an index is known to lie within an array.
bool WordUse::is_below(const Expression& index, std::uint64_t size) const {
    if (index.is_constant()) return index.constant() < size;
    return index.is_slot() && mask64(width_[index.slot()]) < size;
}

}  // namespace csaud::sw
