#include "csaud_switch/program/steps.hpp"

#include <algorithm>

namespace csaud::sw {

Steps::Steps(const Program& program, bool whole_headers)
    : program_(program), logic_(*program.logic), use_(program, whole_headers) {
    if (understood()) start_ = build();
}

std::uint32_t Steps::add() {
    steps_.emplace_back();
    return static_cast<std::uint32_t>(steps_.size() - 1);
}

std::uint32_t Steps::build() {
    const std::uint32_t parsed = add();
    std::vector<std::uint32_t> states;
    for (std::size_t i = 0; i < logic_.parser.states.size(); ++i) states.push_back(add());
    for (std::size_t i = 0; i < states.size(); ++i) state(logic_.parser.states[i], states[i], states, parsed);

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

void Steps::state(const ParserState& state, std::uint32_t at, const std::vector<std::uint32_t>& states,
                  std::uint32_t parsed) {
    // The parser ends early where the packet is short, and a loop of states after some thousand rounds.
    const bool loops = is_loop(static_cast<std::uint32_t>(&state - logic_.parser.states.data()));
    for (const ParserOp& op : state.ops) {
        const std::uint32_t done = add();
        const std::uint32_t next = add();
        steps_[at].next = {done};
        steps_[done].next = {next};
        parse(op, steps_[at], steps_[done], parsed);
        at = next;
    }
    for (const KeyPart& part : state.key) {
        if (part.computed) use_.read(part.value, steps_[at].reads);
        if (!part.computed && !part.lookahead) steps_[at].reads.push_back(part.slot);
    }
    const auto go = [&](std::uint32_t next) {
        steps_[at].next.push_back(next == kAccept ? parsed : states[next]);
    };
    for (const Transition& transition : state.transitions) go(transition.next);
    go(state.otherwise);
    if (loops) go(kAccept);
}

void Steps::parse(const ParserOp& op, Step& before, Step& done, std::uint32_t parsed) {
    switch (op.kind) {
        case ParserOp::Kind::kExtract: {
            const HeaderCode& header = logic_.headers[op.header];
            before.next.push_back(parsed);
            for (const FieldMove& move : header.extract)
                add_words(done.writes, move.slot, words_for(move.width));
            done.writes.push_back(header.valid_slot);
            break;
        }
        case ParserOp::Kind::kSet:
        case ParserOp::Kind::kSetWide:
            use_.read(op.a, before.reads);
            add_field(done.writes, op.target);
            break;
        case ParserOp::Kind::kLookahead:
            before.next.push_back(parsed);
            add_field(done.writes, op.target);
            break;
        case ParserOp::Kind::kVerify:
        case ParserOp::Kind::kAdvance:
            use_.read(op.a, before.reads);
            use_.read(op.b, before.reads);
            before.next.push_back(parsed);
            break;
        default:
            use_.not_understood();
    }
}

// Whether a state can come again.
bool Steps::is_loop(std::uint32_t from) const {
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

void Steps::read_target(std::uint32_t at, const std::optional<FieldRef>& field) {
    if (field) add_field(steps_[at].reads, *field);
}
void Steps::write_target(std::uint32_t at, const std::optional<FieldRef>& field) {
    if (field) steps_[at].writes.push_back(field->slot);
}

// What copies and further passes take along.
void Steps::read_lists(std::uint32_t at) {
    for (const FieldList& list : logic_.field_lists)
        for (const FieldRef& field : list.fields) add_field(steps_[at].reads, field);
}

void Steps::end_of_ingress(std::uint32_t at, std::uint32_t queued) {
    read_lists(at);
    for (const Digest& digest : program_.digests)
        for (const Digest::Element& element : digest.elements)
            if (!element.name.empty()) add_field(steps_[at].reads, element.field);
    read_target(at, logic_.target.mcast_grp);
    read_target(at, logic_.target.egress_spec);
    steps_[at].next.push_back(queued);
}

void Steps::clone(std::uint32_t at, std::uint32_t queued) {
    for (std::size_t i = 0; i < logic_.headers.size(); ++i)
        if (logic_.layout.headers[i].metadata)
            add_words(steps_[at].writes, logic_.headers[i].first_slot, logic_.headers[i].slot_count);
    steps_[at].next.push_back(queued);
}

void Steps::queue(std::uint32_t at) {
    const TargetFields& target = logic_.target;
    read_target(at, target.priority);
    for (const auto* field : {&target.instance_type, &target.egress_timestamp, &target.egress_port,
                              &target.egress_spec, &target.packet_length})
        write_target(at, *field);
    if (!target.queueing) return;
    for (const auto* field :
         {&target.enq_timestamp, &target.enq_qdepth, &target.deq_timedelta, &target.deq_qdepth, &target.qid})
        write_target(at, *field);
}

void Steps::end_of_egress(std::uint32_t at) {
    read_lists(at);
    read_target(at, logic_.target.egress_spec);
    for (const std::uint32_t index : logic_.deparser.checksums)
        use_.read_checksum(logic_.checksums[index], steps_[at].reads);
    if (!use_.whole_headers()) return;
    for (const std::uint32_t index : logic_.deparser.order)
        for (const FieldMove& move : logic_.headers[index].deposit)
            add_words(steps_[at].reads, move.slot, words_for(move.width));
}

void Steps::verify(std::uint32_t at) {
    for (const std::uint32_t index : logic_.verified) {
        const Checksum& checksum = logic_.checksums[index];
        use_.read_checksum(checksum, steps_[at].reads);
        if (checksum.target_metadata) add_field(steps_[at].reads, checksum.target);
    }
    write_target(at, logic_.target.checksum_error);
}

// True if something in it clones.
bool Steps::pipeline(const Pipeline& pipeline, std::uint32_t from, std::uint32_t end) {
    clones_ = false;
    std::vector<std::uint32_t> nodes;
    for (std::size_t i = 0; i < pipeline.nodes.size(); ++i) nodes.push_back(add());
    const auto place = [&](std::uint32_t node) { return node == kEnd ? end : nodes[node]; };
    steps_[from].next.push_back(place(pipeline.start));
    for (std::size_t i = 0; i < pipeline.nodes.size(); ++i) {
        const FlowNode& node = pipeline.nodes[i];
        const std::uint32_t at = nodes[i];
        if (node.kind == FlowNode::Kind::kCondition) {
            use_.read(node.condition, steps_[at].reads);
            steps_[at].next = {place(node.next_true), place(node.next_false)};
        } else if (node.kind == FlowNode::Kind::kCall) {
            action(logic_.actions[node.index], at, {place(node.next_true)}, end);
        } else {
            const Table& table = *program_.tables[node.index];
            std::set<std::uint32_t> after{place(table.base_next)};
            if (table.by_hit) after = {place(table.next_hit), place(table.next_miss)};
            use_.read_table(table, steps_[at].reads);
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

std::set<std::uint32_t> Steps::actions_of(const Table& table) const {
    std::set<std::uint32_t> all(table.actions.begin(), table.actions.end());
    if (table.program_default.set) all.insert(table.program_default.binding.action);
    if (table.profile) {
        const std::vector<std::uint32_t>& shared = program_.profiles[*table.profile]->actions;
        all.insert(shared.begin(), shared.end());
    }
    return all;
}

void Steps::action(const Action& action, std::uint32_t at, const WordList& after, std::uint32_t end) {
    std::vector<std::uint32_t> places{at};
    for (std::size_t i = 0; i < action.primitives.size(); ++i) places.push_back(add());
    bool exits = false;
    for (std::size_t i = 0; i < action.primitives.size(); ++i) {
        const Primitive& p = action.primitives[i];
        const auto to = [&](const Expression& place) {
            if (!place.is_constant()) use_.not_understood();
            steps_[places[i]].next.push_back(
                places[std::min<std::uint64_t>(place.constant(), places.size() - 1)]);
        };
        if (p.op == PrimitiveOp::kJump) {
            to(p.a);
            continue;
        }
        if (p.op == PrimitiveOp::kJumpIfZero) to(p.b);
        steps_[places[i]].next.push_back(places[i + 1]);
        clones_ |= p.op == PrimitiveOp::kClone;
        exits |= p.op == PrimitiveOp::kExit || p.op == PrimitiveOp::kAssert;
        use_.primitive(p, steps_[places[i]].reads, steps_[places[i]].writes);
    }
    WordList& last = steps_[places.back()].next;
    last.insert(last.end(), after.begin(), after.end());
    if (exits) last.push_back(end);
}

}  // namespace csaud::sw
