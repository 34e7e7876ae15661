#include "csaud_switch/program/compile.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <set>

#include "csaud_switch/program/expression_code.hpp"
#include "csaud_switch/program/header_code.hpp"
#include "csaud_switch/program/liveness.hpp"

namespace csaud::sw {

namespace {

using Alu = Assembler::Alu;
using If = Assembler::If;
using Label = Assembler::Label;

// Packet is not of standard layout for the letter of C++; with this compiler its members lie as in one.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
constexpr std::size_t kExitAt = offsetof(Packet, exit);
constexpr std::size_t kLengthAt = offsetof(Packet, ingress_length);
#pragma GCC diagnostic pop

class Compiler {
  public:
    Compiler(const Program& program, const CompiledProgram::Hooks& hooks)
        : program_(program), logic_(*program.logic), hooks_(hooks) {}

    // Where in the code it begins.
    std::size_t action(const Action& action) {
        const std::size_t begin = out_.size();
        out_.enter(words_of(action));
        body(action);
        out_.leave();
        return begin;
    }

    std::size_t pipeline(const Pipeline& pipeline) {
        const std::size_t begin = out_.size();
        std::uint32_t words = 0;
        for (const FlowNode& node : pipeline.nodes) {
            if (node.kind == FlowNode::Kind::kCondition) words = std::max(words, words_of(node.condition));
            if (node.kind == FlowNode::Kind::kCall)
                words = std::max(words, words_of(logic_.actions[node.index]));
        }
        out_.enter(words);
        nodes_.clear();
        for (std::size_t i = 0; i < pipeline.nodes.size(); ++i) nodes_.push_back(out_.label());
        end_ = out_.label();
        go_to(pipeline.start);
        for (std::size_t i = 0; i < pipeline.nodes.size(); ++i) {
            out_.place(nodes_[i]);
            node(pipeline.nodes[i]);
        }
        out_.place(end_);
        out_.leave();
        return begin;
    }

    // Of a checksum; leaves the value in rax.
    std::size_t condition(const Expression& expression) {
        const std::size_t begin = out_.size();
        out_.enter(words_of(expression));
        value(expression, 0);
        out_.leave();
        return begin;
    }

    std::size_t clear(const std::vector<std::uint32_t>& words) {
        const std::size_t begin = out_.size();
        out_.clear_words(words);
        out_.leave_plain();
        return begin;
    }

    // SIZE_MAX where nothing was written.
    template <typename Write, typename Thing>
    std::size_t leaf(Write write, const Thing& thing) {
        const std::size_t begin = out_.size();
        return write(out_, thing) ? begin : SIZE_MAX;
    }

    const std::vector<std::uint8_t>& finish() { return out_.finish(); }

    // Whether all jumps of an action lead to places that are known.
    static bool is_plain(const Action& action) {
        return std::all_of(action.primitives.begin(), action.primitives.end(), [](const Primitive& p) {
            if (p.op == PrimitiveOp::kJump) return p.a.is_constant();
            if (p.op == PrimitiveOp::kJumpIfZero) return p.b.is_constant();
            return true;
        });
    }

  private:
    static std::uint32_t words_of(const Expression& expression) { return ExpressionCode::words(expression); }

    // One word for an index, then those of the expressions.
    static std::uint32_t words_of(const Action& action) {
        std::uint32_t words = 0;
        for (const Primitive& p : action.primitives) words = std::max({words, words_of(p.a), words_of(p.b)});
        return words + 1;
    }

    void go_to(std::uint32_t node) { out_.jump(node == kEnd ? end_ : nodes_[node]); }
    Label target_of(std::uint32_t node) const { return node == kEnd ? end_ : nodes_[node]; }

    void node(const FlowNode& node) {
        switch (node.kind) {
            case FlowNode::Kind::kCondition:
                value(node.condition, 0);
                out_.test();
                out_.jump_if(If::kEqual, target_of(node.next_false));
                go_to(node.next_true);
                return;
            case FlowNode::Kind::kCall:
                body(logic_.actions[node.index]);
                if (may_exit(logic_.actions[node.index])) out_.jump_if_exit(kExitAt, end_);
                go_to(node.next_true);
                return;
            case FlowNode::Kind::kTable: {
                const Table& table = *program_.tables[node.index];
                out_.call(std::bit_cast<const void*>(hooks_.apply), nullptr, node.index);
                out_.jump_if_exit(kExitAt, end_);
                std::set<std::uint32_t> next{table.base_next, table.next_hit, table.next_miss};
                next.insert(table.next_by_action.begin(), table.next_by_action.end());
                next.erase(kEnd);
                for (const std::uint32_t each : next) {
                    out_.compare_result(each);
                    out_.jump_if(If::kEqual, nodes_[each]);
                }
                out_.jump(end_);
                return;
            }
        }
    }

    // Anything that is not known to go on may exit.
    static bool may_exit(const Action& action) {
        return std::any_of(action.primitives.begin(), action.primitives.end(), [](const Primitive& p) {
            switch (p.op) {
                case PrimitiveOp::kAssignConstant:
                case PrimitiveOp::kAssignSlot:
                case PrimitiveOp::kAssign:
                case PrimitiveOp::kRegisterRead:
                case PrimitiveOp::kRegisterWrite:
                case PrimitiveOp::kCount:
                case PrimitiveOp::kJump:
                case PrimitiveOp::kJumpIfZero:
                case PrimitiveOp::kNothing:
                    return false;
                default:
                    return true;
            }
        });
    }

    void value(const Expression& expression, std::uint32_t first_word) {
        if (!ExpressionCode(out_, first_word).write(expression))
            out_.call(std::bit_cast<const void*>(hooks_.eval), &expression, 0);
    }

    void assign(const Primitive& p) {
        out_.alu_constant(Alu::kAnd, p.mask);
        out_.store({Assembler::Base::kSlots, p.target.slot});
        mark_dirty(p);
    }

    void mark_dirty(const Primitive& p) {
        // Nothing is made of a metadata header when the packet leaves.
        if (!logic_.layout.headers[p.target.header].metadata)
            out_.mark_dirty(static_cast<std::uint32_t>(p.target.header * sizeof(HeaderState) +
                                                       offsetof(HeaderState, dirty)));
    }

    void body(const Action& action) {
        std::vector<Label> places;
        for (std::size_t i = 0; i <= action.primitives.size(); ++i) places.push_back(out_.label());
        for (std::size_t i = 0; i < action.primitives.size(); ++i) {
            out_.place(places[i]);
            primitive(action, i, places);
        }
        out_.place(places.back());
    }

    void primitive(const Action& action, std::size_t at, const std::vector<Label>& places) {
        const Primitive& p = action.primitives[at];
        const auto place = [&](const Expression& to) {
            return places[std::min<std::uint64_t>(to.constant(), places.size() - 1)];
        };
        switch (p.op) {
            case PrimitiveOp::kAssignConstant:
                out_.store_constant({Assembler::Base::kSlots, p.target.slot}, p.a.constant() & p.mask);
                mark_dirty(p);
                return;
            case PrimitiveOp::kAssignSlot:
                out_.load({Assembler::Base::kSlots, p.a.slot()});
                assign(p);
                return;
            case PrimitiveOp::kAssign:
                value(p.a, 1);
                assign(p);
                return;
            case PrimitiveOp::kRegisterRead: {
                const RegisterArray& array = program_.registers[p.index];
                if (array.width > 64 || p.target.width > 64) break;
                value(p.a, 1);
                out_.jump_unless_below(array.size, places[at + 1]);
                out_.load_element(p.index);
                assign(p);
                return;
            }
            case PrimitiveOp::kRegisterWrite: {
                const RegisterArray& array = program_.registers[p.index];
                if (array.width > 64) break;
                value(p.a, 1);
                out_.jump_unless_below(array.size, places[at + 1]);
                out_.store({Assembler::Base::kStack, 0});
                value(p.b, 1);
                out_.alu_constant(Alu::kAnd, mask64(array.width));
                out_.store_element(p.index, {Assembler::Base::kStack, 0});
                return;
            }
            case PrimitiveOp::kCount: {
                const CounterArray& counter = program_.counters[p.index];
                value(p.a, 1);
                out_.jump_unless_below(counter.cells.size(), places[at + 1]);
                out_.count_element(program_.registers.size() + p.index, kLengthAt);
                return;
            }
            case PrimitiveOp::kJump:
                out_.jump(place(p.a));
                return;
            case PrimitiveOp::kJumpIfZero:
                value(p.a, 1);
                out_.test();
                out_.jump_if(If::kEqual, place(p.b));
                return;
            case PrimitiveOp::kExit:
                out_.set_exit(kExitAt);
                return;
            case PrimitiveOp::kNothing:
                return;
            default:
                break;
        }
        out_.call(std::bit_cast<const void*>(hooks_.execute), &action, at);
    }

    const Program& program_;
    const Logic& logic_;
    const CompiledProgram::Hooks& hooks_;
    Assembler out_;
    std::vector<Label> nodes_;
    Label end_ = 0;
};

#if defined(__x86_64__)
constexpr bool kHasAssembler = true;
#else
constexpr bool kHasAssembler = false;
#endif

}  // namespace

// Registers first, then counters.
std::vector<void*> CompiledProgram::arrays_of(Program& program) {
    std::vector<void*> arrays;
    for (RegisterArray& array : program.registers) arrays.push_back(array.words.data());
    for (CounterArray& counter : program.counters) arrays.push_back(counter.cells.data());
    return arrays;
}

std::unique_ptr<const CompiledProgram> CompiledProgram::make(const Program& program, const Hooks& hooks) {
    const Logic& logic = *program.logic;
    static_assert(sizeof(Count) == 16 && offsetof(Count, bytes) == 8);
    if (!kHasAssembler || !std::all_of(logic.actions.begin(), logic.actions.end(), Compiler::is_plain))
        return nullptr;
    Compiler compiler(program, hooks);
    std::vector<std::size_t> actions, extracts, deposits, selects, conditions;
    for (const Action& action : logic.actions)
        actions.push_back(action.primitives.empty() ? SIZE_MAX : compiler.action(action));
    const std::size_t clear = compiler.clear(words_to_clear(program));
    const std::size_t ingress = compiler.pipeline(logic.ingress);
    const std::size_t egress = compiler.pipeline(logic.egress);
    for (const HeaderCode& header : logic.headers) {
        extracts.push_back(compiler.leaf(write_extract, header));
        deposits.push_back(compiler.leaf(write_deposit, header));
    }
    for (const ParserState& state : logic.parser.states)
        selects.push_back(compiler.leaf(write_select, state));
    for (const Checksum& checksum : logic.checksums)
        conditions.push_back(checksum.conditional ? compiler.condition(checksum.condition) : SIZE_MAX);

    auto made = std::make_unique<CompiledProgram>();
    if (!made->pages_.load(compiler.finish())) return nullptr;
    const auto place = [&]<typename F>(const std::vector<std::size_t>& from, std::vector<F>& to) {
        for (const std::size_t begin : from)
            to.push_back(begin == SIZE_MAX ? nullptr : std::bit_cast<F>(made->pages_.at(begin)));
    };
    place(actions, made->actions_);
    place(extracts, made->extracts_);
    place(deposits, made->deposits_);
    place(selects, made->selects_);
    place(conditions, made->conditions_);
    made->clear_ = std::bit_cast<Clear>(made->pages_.at(clear));
    made->ingress_ = std::bit_cast<Code>(made->pages_.at(ingress));
    made->egress_ = std::bit_cast<Code>(made->pages_.at(egress));
    return made;
}

}  // namespace csaud::sw
