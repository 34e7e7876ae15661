#include "csaud_switch/program/header_code.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "csaud_switch/program/checksum_code.hpp"
#include "csaud_switch/program/expression_code.hpp"
#include "csaud_switch/program/header_assembler.hpp"
#include "csaud_switch/program/liveness.hpp"

namespace csaud::sw {

namespace {

using Alu = Assembler::Alu;
using If = Assembler::If;
using Label = Assembler::Label;

static_assert(sizeof(HeaderState) == 4 && offsetof(HeaderState, dirty) == 2);

std::uint32_t state_offset(std::uint32_t header) {
    return static_cast<std::uint32_t>(header * sizeof(HeaderState));
}

bool fits(std::uint32_t bit_offset, unsigned width) {
    return bit_offset % 8 + width <= 64;
}

// A field of two words is two fields.
std::vector<FieldMove> split(const std::vector<FieldMove>& moves) {
    std::vector<FieldMove> out;
    for (const FieldMove& move : moves) {
        if (move.width > 64) {
            out.push_back({move.slot + 1, move.bit_offset, move.width - 64});
            out.push_back({move.slot, move.bit_offset + move.width - 64, 64});
        } else {
            out.push_back(move);
        }
    }
    return out;
}

bool can_move(const std::vector<FieldMove>& moves) {
    const std::vector<FieldMove> parts = split(moves);
    return std::all_of(parts.begin(), parts.end(),
                       [](const FieldMove& move) { return fits(move.bit_offset, move.width); });
}

void extract(Assembler& out, HeaderAssembler& headers, const HeaderCode& header) {
    for (const FieldMove& move : split(header.extract)) {
        headers.load_field(move.bit_offset, move.width);
        out.store(Assembler::slot(move.slot));
    }
}

// How many of these fields, from one on, are whole bytes of 1, 2, 4 or 8; 1 where they are not.
std::size_t run_of_bytes(const std::vector<FieldMove>& moves, std::size_t from) {
    unsigned width = moves[from].width;
    for (std::size_t count = 1; moves[from].bit_offset % 8 == 0 && width <= 64; ++count) {
        if (width == 8 || width == 16 || width == 32 || width == 64) return count;
        if (from + count == moves.size()) break;
        const FieldMove& next = moves[from + count];
        if (next.bit_offset != moves[from].bit_offset + width) break;
        width += next.width;
    }
    return 1;
}

// Words hold no more bits than their fields have.
void deposit(Assembler& out, HeaderAssembler& headers, const HeaderCode& header) {
    const std::vector<FieldMove> moves = split(header.deposit);
    for (std::size_t at = 0; at < moves.size();) {
        const std::size_t count = run_of_bytes(moves, at);
        unsigned width = moves[at].width;
        out.load(Assembler::slot(moves[at].slot));
        for (std::size_t i = at + 1; i < at + count; ++i) {
            out.shift_left(moves[i].width);
            out.alu(Alu::kOr, Assembler::slot(moves[i].slot));
            width += moves[i].width;
        }
        headers.store_field(moves[at].bit_offset, width);
        at += count;
    }
}

// States of a parser, each once, every one after those that lead to it is not needed: they jump.
class ParserWriter {
  public:
    ParserWriter(Assembler& out, const Logic& logic)
        : out_(out), headers_(out), logic_(logic), seen_(logic.parser.states.size(), Seen::kNo) {}

    // Whether all that can be reached has code and no way comes back to where it was.
    bool can_write() {
        return visit(logic_.parser.start) &&
               std::all_of(logic_.verified.begin(), logic_.verified.end(), [&](std::uint32_t index) {
                   words_ = std::max(words_, words_of(logic_.checksums[index]));
                   return has_code(logic_, logic_.checksums[index]);
               });
    }

    void write() {
        headers_.enter_parser(kKeyParts + words_);
        for (std::size_t i = 0; i < seen_.size(); ++i) places_.push_back(out_.label());
        accept_ = out_.label();
        error_ = out_.label();
        too_short_ = out_.label();
        out_.jump(place_of(logic_.parser.start));
        for (std::size_t i = 0; i < seen_.size(); ++i)
            if (seen_[i] == Seen::kDone) state(i);
        out_.place(too_short_);
        out_.load_constant(logic_.parser.packet_too_short);
        out_.jump(error_);
        out_.place(accept_);
        out_.load_constant(logic_.parser.no_error);
        out_.place(error_);
        headers_.keep_error();
        for (const std::uint32_t index : logic_.verified) {
            const Label good = out_.label();
            write_verification(out_, logic_, logic_.checksums[index], good);
            headers_.set_bad();
            out_.place(good);
        }
        headers_.leave_parser();
    }

  private:
    enum class Seen : std::uint8_t { kNo, kOpen, kDone };
    static constexpr std::uint32_t kKeyParts = 16;  // words of the stack, before those of expressions

    bool visit(std::uint32_t at) {
        if (at == kAccept || seen_[at] == Seen::kDone) return true;
        if (seen_[at] == Seen::kOpen) return false;
        seen_[at] = Seen::kOpen;
        const ParserState& state = logic_.parser.states[at];
        for (const ParserOp& op : state.ops)
            if (!can_write(op)) return false;
        if (!can_select(state) || !visit(state.otherwise)) return false;
        for (const Transition& transition : state.transitions)
            if (!visit(transition.next)) return false;
        seen_[at] = Seen::kDone;
        return true;
    }

    bool can_write(const Expression& expression) {
        words_ = std::max(words_, ExpressionCode::words(expression));
        return ExpressionCode::can_write(expression);
    }

    bool can_write(const ParserOp& op) {
        switch (op.kind) {
            case ParserOp::Kind::kExtract:
                return !op.varbit && can_move(logic_.headers[op.header].extract);
            case ParserOp::Kind::kSet:
                return can_write(op.a);
            case ParserOp::Kind::kSetWide:  // of all bits of two words: nothing has to be cut
                return op.target.width == 128 && op.a.wide_slot() != nullptr;
            case ParserOp::Kind::kLookahead:
                return op.width <= 64 && fits(op.bit_offset, op.width) && op.bit_offset < op.width;
            case ParserOp::Kind::kVerify:
                return can_write(op.a) && can_write(op.b);
            case ParserOp::Kind::kAdvance:
                return op.a.is_constant() && op.a.constant() % 8 == 0 && op.a.constant() <= UINT16_MAX;
            default:
                return false;
        }
    }

    bool can_select(const ParserState& state) {
        for (const KeyPart& part : state.key)
            if ((part.lookahead && !fits(part.bit_offset, part.width)) ||
                (part.computed && !can_write(part.value)))
                return false;
        return std::all_of(state.transitions.begin(), state.transitions.end(),
                           [&](const Transition& transition) {
                               return !transition.set && transition.values.size() == state.key.size() &&
                                      transition.masks.size() == state.key.size();
                           });
    }

    Label place_of(std::uint32_t state) const { return state == kAccept ? accept_ : places_[state]; }

    void state(std::size_t at) {
        const ParserState& state = logic_.parser.states[at];
        out_.place(places_[at]);
        for (const ParserOp& op : state.ops) operation(op);
        select(state);
    }

    void operation(const ParserOp& op) {
        switch (op.kind) {
            case ParserOp::Kind::kExtract: {
                const HeaderCode& header = logic_.headers[op.header];
                headers_.need_bytes(header.bytes, too_short_);
                extract(out_, headers_, header);
                out_.store_constant(Assembler::slot(header.valid_slot), 1);
                for (const std::uint32_t sibling : header.siblings)
                    out_.store_constant(Assembler::slot(sibling), 0);
                headers_.take_header(state_offset(op.header), header.bytes);
                headers_.pass_bytes(header.bytes);
                return;
            }
            case ParserOp::Kind::kSet:
                value(op.a);
                out_.alu_constant(Alu::kAnd, op.mask);
                assign(op.target);
                return;
            case ParserOp::Kind::kSetWide:
                for (const std::uint32_t word : {0U, 1U}) {
                    out_.load(Assembler::slot(*op.a.wide_slot() + word));
                    out_.store(Assembler::slot(op.target.slot + word));
                }
                mark_dirty(op.target);
                return;
            case ParserOp::Kind::kLookahead:
                // The reference asks for as many bytes as the value has, wherever it starts.
                headers_.need_bytes((op.width + 7) / 8, too_short_);
                headers_.load_field(op.bit_offset, op.width);
                out_.alu_constant(Alu::kAnd, mask64(op.target.width));
                assign(op.target);
                return;
            case ParserOp::Kind::kVerify: {
                const Label good = out_.label();
                value(op.a);
                out_.test();
                out_.jump_if(If::kNotEqual, good);
                value(op.b);
                out_.alu_constant(Alu::kAnd, INT32_MAX);
                out_.jump(error_);
                out_.place(good);
                return;
            }
            case ParserOp::Kind::kAdvance: {
                const auto bytes = static_cast<std::uint32_t>(op.a.constant() / 8);
                headers_.need_bytes(bytes, too_short_);
                headers_.skip_header(bytes);
                headers_.pass_bytes(bytes);
                return;
            }
            default:
                return;  // see can_write
        }
    }

    void assign(const FieldRef& target) {
        out_.store(Assembler::slot(target.slot));
        if (target.width > 64) out_.store_constant(Assembler::slot(target.slot + 1), 0);
        mark_dirty(target);
    }

    void mark_dirty(const FieldRef& target) {
        if (!logic_.layout.headers[target.header].metadata)
            out_.mark_dirty(
                static_cast<std::uint32_t>(state_offset(target.header) + offsetof(HeaderState, dirty)));
    }

    void value(const Expression& expression) { ExpressionCode(out_, kKeyParts).write(expression); }

    void select(const ParserState& state) {
        std::vector<Assembler::Word> key;
        for (std::size_t i = 0; i < state.key.size(); ++i) {
            const KeyPart& part = state.key[i];
            if (!part.lookahead && !part.computed) {
                key.push_back(Assembler::slot(part.slot));
                continue;
            }
            key.push_back({Assembler::Base::kStack, static_cast<std::uint32_t>(i)});
            if (part.computed) {
                value(part.value);
            } else {
                const Label there = out_.label();
                out_.load_constant(0);
                headers_.need_bytes((part.bit_offset + part.width + 7) / 8, there);
                headers_.load_field(part.bit_offset, part.width);
                out_.place(there);
            }
            out_.store(key.back());
        }
        for (const Transition& transition : state.transitions) compare(state, transition, key);
        out_.jump(place_of(state.otherwise));
    }

    void compare(const ParserState& state, const Transition& transition,
                 const std::vector<Assembler::Word>& key) {
        const Label another = out_.label();
        for (std::size_t i = 0; i < key.size(); ++i) {
            if (transition.masks[i] == 0 && transition.values[i] == 0) continue;
            out_.load(key[i]);
            // A key has no more bits than its field.
            if (transition.masks[i] != mask64(state.key[i].width))
                out_.alu_constant(Alu::kAnd, transition.masks[i]);
            out_.alu_constant(Alu::kCmp, transition.values[i]);
            out_.jump_if(If::kNotEqual, another);
        }
        out_.jump(place_of(transition.next));
        out_.place(another);
    }

    Assembler& out_;
    HeaderAssembler headers_;
    const Logic& logic_;
    std::vector<Seen> seen_;
    std::uint32_t words_ = 0;
    std::vector<Label> places_;
    Label accept_ = 0, error_ = 0, too_short_ = 0;
};

}  // namespace

void write_beginning(Assembler& out, const Program& program) {
    const Logic& logic = *program.logic;
    std::vector<std::uint32_t> metadata;
    for (const Header& header : logic.layout.headers)
        if (header.metadata) metadata.push_back(header.valid_slot);
    out.clear_words(words_to_clear(program));
    out.set_words(metadata);
    out.fill_states(logic.headers.size(), kNoBytes);
    out.leave_plain();
}

void write_keeping(Assembler& out, const std::vector<std::uint32_t>& words) {
    out.gather_words(words);
    out.leave_plain();
}

void write_restoring(Assembler& out, const std::vector<std::uint32_t>& words) {
    out.scatter_words(words);
    out.leave_plain();
}

bool write_parser(Assembler& out, const Logic& logic) {
    ParserWriter writer(out, logic);
    if (!writer.can_write()) return false;
    writer.write();
    return true;
}

bool write_deparser(Assembler& out, const Logic& logic) {
    std::uint32_t words = 0;
    for (const std::uint32_t index : logic.deparser.checksums) {
        if (!has_code(logic, logic.checksums[index])) return false;
        words = std::max(words, words_of(logic.checksums[index]));
    }
    for (const std::uint32_t index : logic.deparser.order)
        if (logic.headers[index].varbit || !can_move(logic.headers[index].deposit)) return false;
    HeaderAssembler headers(out);
    headers.enter_deparser(words);
    for (const std::uint32_t index : logic.deparser.checksums)
        write_update(out, logic, logic.checksums[index]);
    // From the last header back, as the payload is what they end at.
    const Label elsewhere = out.label();
    for (auto index = logic.deparser.order.rbegin(); index != logic.deparser.order.rend(); ++index) {
        const HeaderCode& header = logic.headers[*index];
        const Label next = out.label();
        out.test_word(Assembler::slot(header.valid_slot));
        out.jump_if(If::kEqual, next);
        headers.before_header(state_offset(*index), header.bytes, elsewhere, next);
        deposit(out, headers, header);
        out.place(next);
    }
    headers.leave_deparser(elsewhere);
    return true;
}

}  // namespace csaud::sw
