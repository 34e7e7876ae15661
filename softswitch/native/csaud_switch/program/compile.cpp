#include "csaud_switch/program/compile.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <set>

#include "csaud_switch/program/action_code.hpp"
#include "csaud_switch/program/header_code.hpp"
#include "csaud_switch/program/liveness.hpp"
#include "csaud_switch/program/machine_code.hpp"
#include "csaud_switch/program/places.hpp"

namespace csaud::sw {

namespace {

using If = Assembler::If;
using Label = Assembler::Label;

// A pipeline: nodes in the order in which packets meet them, so that most of them fall from one to the next.
class PipelineWriter {
  public:
    PipelineWriter(Assembler& out, const Program& program, const CompiledProgram::Hooks& hooks,
                   const Pipeline& pipeline)
        : out_(out),
          program_(program),
          logic_(*program.logic),
          hooks_(hooks),
          pipeline_(pipeline),
          places_(program),
          actions_(out, program, hooks, places_),
          written_(pipeline.nodes.size(), false) {}

    void write() {
        for (const FlowNode& node : pipeline_.nodes) words_ = std::max(words_, words_of(node));
        out_.enter(words_ + 1);
        for (std::size_t i = 0; i < pipeline_.nodes.size(); ++i) nodes_.push_back(out_.label());
        end_ = out_.label();
        pending_.push_back(pipeline_.start);
        while (!pending_.empty()) {
            std::uint32_t at = pending_.back();
            pending_.pop_back();
            if (at == kEnd || written_[at]) continue;
            while (at != kEnd && !written_[at]) {
                written_[at] = true;
                out_.place(nodes_[at]);
                at = node(pipeline_.nodes[at]);
            }
            out_.jump(label_of(at));
        }
        if (pipeline_.start == kEnd) out_.jump(end_);
        out_.place(end_);
        out_.leave();
    }

  private:
    std::uint32_t words_of(const FlowNode& node) const {
        switch (node.kind) {
            case FlowNode::Kind::kCondition:
                return 1 + ExpressionCode::words(node.condition);
            case FlowNode::Kind::kCall:
                return actions_.words_of(logic_.actions[node.index]);
            case FlowNode::Kind::kTable:
                break;
        }
        std::uint32_t words = 0;
        for (const std::uint32_t action : actions_of(*program_.tables[node.index]))
            words = std::max(words, actions_.words_of(logic_.actions[action]));
        return words;
    }

    // All that may come of it.
    std::set<std::uint32_t> actions_of(const Table& table) const {
        std::set<std::uint32_t> all(table.actions.begin(), table.actions.end());
        if (table.profile) {
            const std::vector<std::uint32_t>& more = program_.profiles[*table.profile]->actions;
            all.insert(more.begin(), more.end());
        }
        if (table.program_default.set) all.insert(table.program_default.binding.action);
        for (const Entry* entry : table.entries())
            if (entry->binding.kind == Binding::Kind::kAction) all.insert(entry->binding.action);
        return all;
    }

    Label label_of(std::uint32_t node) const { return node == kEnd ? end_ : nodes_[node]; }

    // A node that something jumps to.
    Label later(std::uint32_t node) {
        if (node != kEnd) pending_.push_back(node);
        return label_of(node);
    }

    // The node that it falls to at its end.
    std::uint32_t node(const FlowNode& node) {
        switch (node.kind) {
            case FlowNode::Kind::kCondition:
                actions_.jump_unless(node.condition, later(node.next_false));
                return node.next_true;
            case FlowNode::Kind::kCall:
                action(node.index);
                return node.next_true;
            case FlowNode::Kind::kTable:
                return table(node.index);
        }
        return kEnd;
    }

    void action(std::uint32_t index) {
        const Action& action = logic_.actions[index];
        actions_.write(action);
        if (ActionCode::may_exit(action)) actions_.jump_if_exit(end_);
    }

    // A function looks the packet up and says which action, with which parameters; the actions follow here.
    std::uint32_t table(std::uint32_t index) {
        const Table& table = *program_.tables[index];
        out_.call_with_array(std::bit_cast<const void*>(hooks_.resolve), places_.of_table(index));
        const Assembler::Word outcome{Assembler::Base::kStack, words_};
        if (table.by_hit) out_.store(outcome);
        const Label behind = out_.label();
        const auto next_of = [&](std::uint32_t action) {
            return table.by_hit ? kEnd : table.next_by_action[action];
        };
        std::vector<std::pair<std::uint32_t, Label>> blocks;
        for (const std::uint32_t each : actions_of(table)) {
            // What does nothing and leads where no action leads.
            if (logic_.actions[each].primitives.empty() && (table.by_hit || next_of(each) == table.base_next))
                continue;
            blocks.emplace_back(each, out_.label());
            out_.compare_result(each);
            out_.jump_if(If::kEqual, blocks.back().second);
        }
        if (!blocks.empty()) out_.jump(table.by_hit ? behind : later(table.base_next));
        std::uint32_t last = table.base_next;
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            out_.place(blocks[i].second);
            action(blocks[i].first);
            last = next_of(blocks[i].first);
            if (i + 1 < blocks.size()) out_.jump(table.by_hit ? behind : later(last));
        }
        if (!table.by_hit) return last;
        out_.place(behind);
        out_.load(outcome);
        out_.shift_right(32, false);
        out_.jump_if(If::kEqual, later(table.next_miss));
        return table.next_hit;
    }

    Assembler& out_;
    const Program& program_;
    const Logic& logic_;
    const CompiledProgram::Hooks& hooks_;
    const Pipeline& pipeline_;
    Places places_;
    ActionCode actions_;
    std::uint32_t words_ = 0;
    std::vector<bool> written_;
    std::vector<std::uint32_t> pending_;
    std::vector<Label> nodes_;
    Label end_ = 0;
};

#if defined(__x86_64__)
constexpr bool kHasAssembler = true;
#else
constexpr bool kHasAssembler = false;
#endif

}  // namespace

std::unique_ptr<const CompiledProgram> CompiledProgram::make(const Program& program, const Hooks& hooks) {
    const Logic& logic = *program.logic;
    static_assert(sizeof(Count) == 16 && offsetof(Count, bytes) == 8);
    if (!kHasAssembler || !std::all_of(logic.actions.begin(), logic.actions.end(), ActionCode::is_plain))
        return nullptr;
    Assembler out;
    const auto begin_of = [&](const auto& write) {
        const std::size_t begin = out.size();
        return write() ? begin : SIZE_MAX;
    };
    const auto pipeline = [&](const Pipeline& of) {
        return begin_of([&] {
            PipelineWriter(out, program, hooks, of).write();
            return true;
        });
    };
    const std::size_t start = begin_of([&] {
        write_beginning(out, program);
        return true;
    });
    const auto kept = words_to_keep(program);
    const auto copying = [&](const auto& write) {
        return begin_of([&] {
            if (kept) write(out, *kept);
            return kept.has_value();
        });
    };
    const std::size_t keep = copying(write_keeping);
    const std::size_t restore = copying(write_restoring);
    const std::size_t parse = begin_of([&] { return write_parser(out, logic); });
    const std::size_t ingress = pipeline(logic.ingress);
    const std::size_t egress = pipeline(logic.egress);
    const std::size_t deparse = begin_of([&] { return write_deparser(out, logic); });

    auto made = std::make_unique<CompiledProgram>();
    if (!made->pages_.load(out.finish())) return nullptr;
    const auto place = [&]<typename F>(std::size_t begin, F& to) {
        to = begin == SIZE_MAX ? nullptr : std::bit_cast<F>(made->pages_.at(begin));
    };
    place(start, made->begin_);
    if (kept) made->kept_words_ = kept->size();
    place(keep, made->keep_);
    place(restore, made->restore_);
    place(parse, made->parse_);
    place(ingress, made->ingress_);
    place(egress, made->egress_);
    place(deparse, made->deparse_);
    return made;
}

}  // namespace csaud::sw
