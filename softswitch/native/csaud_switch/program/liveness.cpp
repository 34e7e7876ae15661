#include "csaud_switch/program/liveness.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <set>
#include <utility>

namespace csaud::sw {

namespace {

using WordList = std::vector<std::uint32_t>;

void add_words(WordList& words, std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) words.push_back(first + i);
}

void add_field(WordList& words, const FieldRef& field) {
    add_words(words, field.slot, words_for(field.width));
}

// The program as steps, each with the words that it reads, the words that it writes then on every way to the
// next ones, and those.
//
// A header that is valid has all fields that the program uses: they were extracted, set to zero, or copied
// from one that had. So whatever reads fields of valid headers only (the deparser, copies of headers,
// checksums and hashes) reads their validity, which is always cleared, and nothing else for our purpose. What
// a queued packet has to keep is another matter: there, they read fields as well (whole_headers), and a copy
// writes all of a header, since nothing of that kind looks at one that it has made invalid.
class Steps {
  public:
    Steps(const Program& program, bool whole_headers)
        : program_(program), logic_(*program.logic), whole_headers_(whole_headers) {
        for (const Header& header : logic_.layout.headers) {
            width_.resize(std::max<std::size_t>(width_.size(), header.first_slot + header.slot_count), 64);
            for (const Field& field : header.fields)
                if (!field.opaque && !field.varbit) width_[field.slot] = field.width;
            understood_ &= !header.varbit.has_value();
        }
        understood_ &= logic_.layout.stacks.empty() && logic_.layout.unions.empty();
        if (understood_) start_ = build();
    }

    bool understood() const { return understood_; }

    // What may be read before it is written, from the start on, or once a packet has left its queue.
    WordList live_at_start() const { return live({start_}); }
    WordList live_in_egress() const { return live(steps_[queued_].next); }

  private:
    WordList live(const WordList& from) const {
        const std::size_t size = (logic_.layout.slot_count + 63) / 64;
        std::vector<std::uint64_t> live(steps_.size() * size, 0);
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t i = steps_.size(); i-- > 0;) {
                const Step& step = steps_[i];
                std::vector<std::uint64_t> words(size, 0);
                for (const std::uint32_t next : step.next)
                    for (std::size_t w = 0; w < size; ++w) words[w] |= live[next * size + w];
                for (const std::uint32_t word : step.writes)
                    words[word / 64] &= ~(std::uint64_t{1} << word % 64);
                for (const std::uint32_t word : step.reads) words[word / 64] |= std::uint64_t{1} << word % 64;
                if (std::equal(words.begin(), words.end(), &live[i * size])) continue;
                std::copy(words.begin(), words.end(), &live[i * size]);
                changed = true;
            }
        }
        WordList found;
        for (std::uint32_t word = 0; word < logic_.layout.slot_count; ++word)
            if (std::any_of(from.begin(), from.end(), [&](std::uint32_t step) {
                    return (live[step * size + word / 64] >> word % 64 & 1U) != 0;
                }))
                found.push_back(word);
        return found;
    }

    struct Step {
        WordList reads, writes, next;
    };

    std::uint32_t add() {
        steps_.emplace_back();
        return static_cast<std::uint32_t>(steps_.size() - 1);
    }

    void read(const Expression& expression, WordList& reads) { understood_ &= expression.reads(reads); }

    void add_header(std::uint32_t header, WordList& words) const {
        add_words(words, logic_.headers[header].first_slot, logic_.headers[header].slot_count);
    }

    void read_calculation(const Calculation& calculation, WordList& reads) const {
        for (const CalculationInput& input : calculation.inputs)
            if (input.kind == CalculationInput::Kind::kField && (input.always || whole_headers_))
                add_words(reads, input.slot, words_for(input.width));
    }

    std::uint32_t build() {
        const std::uint32_t parsed = add();
        std::vector<std::uint32_t> states;
        for (std::size_t i = 0; i < logic_.parser.states.size(); ++i) states.push_back(add());
        for (std::size_t i = 0; i < states.size(); ++i)
            state(logic_.parser.states[i], states[i], states, parsed);

        const std::uint32_t verified = add();
        const std::uint32_t ingress_end = add();
        const std::uint32_t cloned = add();
        const std::uint32_t queued = queued_ = add();
        const std::uint32_t egress_end = add();
        write_target(parsed, logic_.target.parser_error);
        steps_[parsed].next = {verified};
        verify(verified);
        const bool ingress_clones = pipeline(logic_.ingress, verified, ingress_end);
        end_of_ingress(ingress_end, queued);
        // What is cloned in ingress is parsed once more, and egress is next.
        if (ingress_clones) steps_[verified].next.push_back(cloned);
        clone(cloned, queued);
        queue(queued);
        const bool egress_clones = pipeline(logic_.egress, queued, egress_end);
        end_of_egress(egress_end);
        if (egress_clones) steps_[egress_end].next.push_back(cloned);
        return logic_.parser.start == kAccept ? parsed : states[logic_.parser.start];
    }

    // --- parser

    void state(const ParserState& state, std::uint32_t at, const std::vector<std::uint32_t>& states,
               std::uint32_t parsed) {
        // The parser ends early where the packet is short, and a loop of states after some thousand rounds.
        const bool loops = is_loop(static_cast<std::uint32_t>(&state - logic_.parser.states.data()));
        for (const ParserOp& op : state.ops) {
            const std::uint32_t done = add();
            const std::uint32_t next = add();
            steps_[at].next = {done};
            steps_[done].next = {next};
            WordList& reads = steps_[at].reads;
            WordList& writes = steps_[done].writes;
            switch (op.kind) {
                case ParserOp::Kind::kExtract: {
                    const HeaderCode& header = logic_.headers[op.header];
                    steps_[at].next.push_back(parsed);
                    for (const FieldMove& move : header.extract)
                        add_words(writes, move.slot, words_for(move.width));
                    writes.push_back(header.valid_slot);
                    break;
                }
                case ParserOp::Kind::kSet:
                case ParserOp::Kind::kSetWide:
                    read(op.a, reads);
                    add_field(writes, op.target);
                    break;
                case ParserOp::Kind::kLookahead:
                    steps_[at].next.push_back(parsed);
                    add_field(writes, op.target);
                    break;
                case ParserOp::Kind::kVerify:
                case ParserOp::Kind::kAdvance:
                    read(op.a, reads);
                    read(op.b, reads);
                    steps_[at].next.push_back(parsed);
                    break;
                default:
                    understood_ = false;
            }
            at = next;
        }
        for (const KeyPart& part : state.key) {
            if (part.computed) read(part.value, steps_[at].reads);
            if (!part.computed && !part.lookahead) steps_[at].reads.push_back(part.slot);
        }
        const auto go = [&](std::uint32_t next) {
            steps_[at].next.push_back(next == kAccept ? parsed : states[next]);
        };
        for (const Transition& transition : state.transitions) go(transition.next);
        go(state.otherwise);
        if (loops) go(kAccept);
    }

    // Whether a state can come again.
    bool is_loop(std::uint32_t from) const {
        std::set<std::uint32_t> seen;
        std::vector<std::uint32_t> open{from};
        while (!open.empty()) {
            const ParserState& state = logic_.parser.states[open.back()];
            open.pop_back();
            const auto visit = [&](std::uint32_t next) {
                if (next != kAccept && seen.insert(next).second) open.push_back(next);
            };
            for (const Transition& transition : state.transitions) visit(transition.next);
            visit(state.otherwise);
        }
        return seen.contains(from);
    }

    void verify(std::uint32_t at) {
        for (const std::uint32_t index : logic_.verified) {
            const Checksum& checksum = logic_.checksums[index];
            read_checksum(checksum, steps_[at].reads);
            if (checksum.target_metadata) add_field(steps_[at].reads, checksum.target);
        }
        write_target(at, logic_.target.checksum_error);
    }

    void read_checksum(const Checksum& checksum, WordList& reads) {
        read_calculation(logic_.calculations[checksum.calculation], reads);
        if (checksum.conditional) read(checksum.condition, reads);
    }

    // --- what the switch does

    void read_target(std::uint32_t at, const std::optional<FieldRef>& field) {
        if (field) add_field(steps_[at].reads, *field);
    }
    void write_target(std::uint32_t at, const std::optional<FieldRef>& field) {
        if (field) steps_[at].writes.push_back(field->slot);
    }

    // What copies and further passes take along.
    void read_lists(std::uint32_t at) {
        for (const FieldList& list : logic_.field_lists)
            for (const FieldRef& field : list.fields) add_field(steps_[at].reads, field);
    }

    void end_of_ingress(std::uint32_t at, std::uint32_t queued) {
        read_lists(at);
        for (const Digest& digest : program_.digests)
            for (const Digest::Element& element : digest.elements)
                if (!element.name.empty()) add_field(steps_[at].reads, element.field);
        read_target(at, logic_.target.mcast_grp);
        read_target(at, logic_.target.egress_spec);
        steps_[at].next.push_back(queued);
    }

    void clone(std::uint32_t at, std::uint32_t queued) {
        for (std::size_t i = 0; i < logic_.headers.size(); ++i)
            if (logic_.layout.headers[i].metadata)
                add_words(steps_[at].writes, logic_.headers[i].first_slot, logic_.headers[i].slot_count);
        steps_[at].next.push_back(queued);
    }

    void queue(std::uint32_t at) {
        const TargetFields& target = logic_.target;
        read_target(at, target.priority);
        for (const auto* field : {&target.instance_type, &target.egress_timestamp, &target.egress_port,
                                  &target.egress_spec, &target.packet_length})
            write_target(at, *field);
        if (!target.queueing) return;
        for (const auto* field : {&target.enq_timestamp, &target.enq_qdepth, &target.deq_timedelta,
                                  &target.deq_qdepth, &target.qid})
            write_target(at, *field);
    }

    void end_of_egress(std::uint32_t at) {
        read_lists(at);
        read_target(at, logic_.target.egress_spec);
        for (const std::uint32_t index : logic_.deparser.checksums)
            read_checksum(logic_.checksums[index], steps_[at].reads);
        if (!whole_headers_) return;
        for (const std::uint32_t index : logic_.deparser.order)
            for (const FieldMove& move : logic_.headers[index].deposit)
                add_words(steps_[at].reads, move.slot, words_for(move.width));
    }

    // --- controls

    // True if something in it clones.
    bool pipeline(const Pipeline& pipeline, std::uint32_t from, std::uint32_t end) {
        clones_ = false;
        std::vector<std::uint32_t> nodes;
        for (std::size_t i = 0; i < pipeline.nodes.size(); ++i) nodes.push_back(add());
        const auto place = [&](std::uint32_t node) { return node == kEnd ? end : nodes[node]; };
        steps_[from].next.push_back(place(pipeline.start));
        for (std::size_t i = 0; i < pipeline.nodes.size(); ++i) {
            const FlowNode& node = pipeline.nodes[i];
            const std::uint32_t at = nodes[i];
            if (node.kind == FlowNode::Kind::kCondition) {
                read(node.condition, steps_[at].reads);
                steps_[at].next = {place(node.next_true), place(node.next_false)};
            } else if (node.kind == FlowNode::Kind::kCall) {
                action(logic_.actions[node.index], at, {place(node.next_true)}, end);
            } else {
                const Table& table = *program_.tables[node.index];
                std::set<std::uint32_t> after{place(table.base_next)};
                if (table.by_hit) after = {place(table.next_hit), place(table.next_miss)};
                read_table(table, steps_[at].reads);
                steps_[at].next.assign(after.begin(), after.end());  // no action at all
                for (const std::uint32_t each : actions_of(table)) {
                    if (!table.by_hit) after = {place(table.next_by_action[each])};
                    const std::uint32_t call = add();
                    steps_[at].next.push_back(call);
                    action(logic_.actions[each], call, {after.begin(), after.end()}, end);
                }
            }
        }
        return clones_;
    }

    std::set<std::uint32_t> actions_of(const Table& table) const {
        std::set<std::uint32_t> all(table.actions.begin(), table.actions.end());
        if (table.program_default.set) all.insert(table.program_default.binding.action);
        if (table.profile) {
            const std::vector<std::uint32_t>& shared = program_.profiles[*table.profile]->actions;
            all.insert(shared.begin(), shared.end());
        }
        return all;
    }

    void read_table(const Table& table, WordList& reads) const {
        for (const KeyField& key : table.keys) add_field(reads, key.source);
        if (table.profile && program_.profiles[*table.profile]->selector)
            read_calculation(*program_.profiles[*table.profile]->selector, reads);
    }

    void action(const Action& action, std::uint32_t at, const WordList& after, std::uint32_t end) {
        std::vector<std::uint32_t> places{at};
        for (std::size_t i = 0; i < action.primitives.size(); ++i) places.push_back(add());
        bool exits = false;
        for (std::size_t i = 0; i < action.primitives.size(); ++i) {
            const Primitive& p = action.primitives[i];
            const auto to = [&](const Expression& place) {
                understood_ &= place.is_constant();
                steps_[places[i]].next.push_back(
                    places[std::min<std::uint64_t>(place.constant(), places.size() - 1)]);
            };
            if (p.op == PrimitiveOp::kJump) {
                to(p.a);
                continue;
            }
            if (p.op == PrimitiveOp::kJumpIfZero) to(p.b);
            steps_[places[i]].next.push_back(places[i + 1]);
            exits |= p.op == PrimitiveOp::kExit || p.op == PrimitiveOp::kAssert;
            primitive(p, steps_[places[i]]);
        }
        WordList& last = steps_[places.back()].next;
        last.insert(last.end(), after.begin(), after.end());
        if (exits) last.push_back(end);
    }

    void primitive(const Primitive& p, Step& step) {
        read(p.a, step.reads);
        read(p.b, step.reads);
        switch (p.op) {
            case PrimitiveOp::kAssignConstant:
            case PrimitiveOp::kAssignSlot:
            case PrimitiveOp::kAssign:
            case PrimitiveOp::kAssignWide:
                add_field(step.writes, p.target);
                return;
            case PrimitiveOp::kHash:
                read_calculation(logic_.calculations[p.index], step.reads);
                add_field(step.writes, p.target);
                return;
            case PrimitiveOp::kRegisterRead:
                if (is_below(p.a, program_.registers[p.index].size)) add_field(step.writes, p.target);
                return;
            case PrimitiveOp::kMarkToDrop:
                add_field(step.writes, p.target);
                add_words(step.writes, p.index, p.other);
                return;
            case PrimitiveOp::kAssignHeader:
                step.reads.push_back(logic_.headers[p.other].valid_slot);
                if (!whole_headers_) return;
                add_header(p.other, step.reads);
                add_header(p.index, step.writes);
                return;
            case PrimitiveOp::kClone:
                clones_ = true;
                return;
            case PrimitiveOp::kAssert:
            case PrimitiveOp::kLog:
                for (const Expression& value : p.message->values) read(value, step.reads);
                return;
            // These write nothing, or not always.
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
    bool is_below(const Expression& index, std::uint64_t size) const {
        if (index.is_constant()) return index.constant() < size;
        return index.is_slot() && mask64(width_[index.slot()]) < size;
    }

    const Program& program_;
    const Logic& logic_;
    bool whole_headers_;
    std::vector<Step> steps_;
    std::vector<unsigned> width_;  // of the field whose first word it is
    std::uint32_t start_ = 0, queued_ = 0;
    bool understood_ = true;
    bool clones_ = false;
};

}  // namespace

std::vector<std::uint32_t> words_to_clear(const Program& program) {
    const Logic& logic = *program.logic;
    const Steps steps(program, false);
    std::set<std::uint32_t> words;
    if (steps.understood()) {
        const WordList live = steps.live_at_start();
        words.insert(live.begin(), live.end());
        for (const HeaderCode& header : logic.headers) words.insert(header.valid_slot);
    } else {
        for (std::uint32_t word = 0; word < logic.layout.slot_count; ++word) words.insert(word);
    }
    return {words.begin(), words.end()};
}

std::optional<std::vector<std::uint32_t>> words_to_keep(const Program& program) {
    const Logic& logic = *program.logic;
    const Steps fields(program, false);
    const Steps headers(program, true);
    if (!headers.understood()) return std::nullopt;
    std::set<std::uint32_t> words;
    for (const WordList& live : {fields.live_in_egress(), headers.live_in_egress()})
        words.insert(live.begin(), live.end());
    for (const HeaderCode& header : logic.headers) words.insert(header.valid_slot);
    return WordList(words.begin(), words.end());
}

}  // namespace csaud::sw
