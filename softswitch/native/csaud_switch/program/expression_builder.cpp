#include "csaud_switch/program/expression_builder.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "csaud_switch/base/error.hpp"

namespace csaud::sw {

ExpressionBuilder::Node ExpressionBuilder::add(const Item& item) {
    for (Node i = 0; i < items_.size(); ++i) {
        const Item& other = items_[i];
        if (other.arity == item.arity && other.op == item.op && other.leaf.source == item.leaf.source &&
            other.leaf.index == item.leaf.index && other.kids == item.kids && other.value == item.value &&
            other.range.large == item.range.large)
            return i;
    }
    items_.push_back(item);
    return static_cast<Node>(items_.size() - 1);
}

ExpressionBuilder::Node ExpressionBuilder::add(Op op, std::initializer_list<Node> kids) {
    Item item;
    item.op = op;
    item.arity = static_cast<std::uint8_t>(kids.size());
    std::ranges::copy(kids, item.kids.begin());
    std::array<Range, 3> ranges;
    std::ranges::transform(kids, ranges.begin(), [this](Node kid) { return items_[kid].range; });
    item.range = range_of(op, std::span(ranges).first(kids.size()));
    return add(item);
}

ExpressionBuilder::Node ExpressionBuilder::constant(Wide value, bool large) {
    Item item;
    item.leaf.source = Source::kConstant;
    item.value = value;
    item.range = {value, value, !large && value >= -kLimit && value <= kLimit, large};
    return add(item);
}

// What begins at a place; above 64 bits it has two words.
ExpressionBuilder::Node ExpressionBuilder::read(Operand leaf, unsigned width) {
    Item item;
    item.leaf = leaf;
    item.range = Range::of_bits(std::min(width, 64U));
    const Node first = add(item);
    if (width <= 64) return first;
    Item whole;
    whole.op = Op::kWide;
    whole.arity = 1;
    whole.kids = {first, 0, 0};
    whole.range = Range::of_bits(width);
    return add(whole);
}

ExpressionBuilder::Node ExpressionBuilder::field(const FieldRef& field) {
    const Node value = read({Source::kSlot, field.slot}, field.width);
    if (!field.is_signed) return value;
    return make(field.width > 64 ? Op::kTwoComp : Op::kSigned, value, constant(field.width));
}

ExpressionBuilder::Node ExpressionBuilder::parameter(std::uint32_t word, unsigned width) {
    return read({Source::kParameter, word}, width);
}

ExpressionBuilder::Node ExpressionBuilder::element(const FieldRef& first, Node index, std::uint32_t stride,
                                                   std::uint32_t count) {
    const bool two_words = first.width > 64;
    Item item;
    item.op = two_words ? Op::kLoadWide : Op::kLoad;
    item.arity = 3;
    item.kids = {index, constant(first.slot), constant(Wide{stride} << 32 | count)};
    item.range = Range::of_bits(first.width);
    const Node value = add(item);
    if (!first.is_signed) return value;
    return make(two_words ? Op::kTwoComp : Op::kSigned, value, constant(first.width));
}

ExpressionBuilder::Node ExpressionBuilder::same_bits(std::uint32_t slot, std::uint32_t other_slot) {
    Item item;
    item.op = Op::kSameBits;
    item.arity = 2;
    item.kids = {constant(slot), constant(other_slot), 0};
    item.range = Range::of_bits(1);
    return add(item);
}

ExpressionBuilder::Node ExpressionBuilder::make(Op op, Node a) {
    return add(op, {a});
}

ExpressionBuilder::Node ExpressionBuilder::make(Op op, Node a, Node b) {
    const Unsigned as = without_sign(op, items_[a].range, items_[b].range);
    if (as.swapped) std::swap(a, b);
    // What p4c writes in many places: a mask that takes nothing away.
    if (op == Op::kAnd && items_[b].arity == 0 && items_[b].leaf.source == Source::kConstant) {
        const Wide mask = items_[b].value;
        if (mask == all_ones(mask) && items_[a].range.within(0, mask)) return a;
    }
    return add(as.op, {a, b});
}

ExpressionBuilder::Node ExpressionBuilder::make(Op op, Node a, Node b, Node c) {
    return add(op, {a, b, c});
}

// A node is exact when more than its low 64 bits can matter to the result. Equal nodes have one home, so kids
// always come before their parents.
std::vector<bool> ExpressionBuilder::find_exact(Node root, unsigned bits) const {
    std::vector<bool> exact(items_.size(), false);
    exact[root] = bits == 0 || bits > 64;
    for (Node i = root + 1; i-- > 0;) {
        const Item& item = items_[i];
        const auto need = [&](std::size_t kid, bool value) {
            if (value) exact[item.kids[kid]] = true;
        };
        const bool self = exact[i];
        switch (item.arity == 0 ? Op::kWide : item.op) {
            case Op::kAdd:
            case Op::kSub:
            case Op::kMul:
            case Op::kOr:
            case Op::kXor:
                need(0, self);
                need(1, self);
                break;
            case Op::kNeg:
                need(0, self);
                break;
            case Op::kAnd: {
                // A mask of at most 63 bits on one side makes the other side's higher bits irrelevant.
                need(0, self && !items_[item.kids[1]].range.within(0, INT64_MAX));
                need(1, self && !items_[item.kids[0]].range.within(0, INT64_MAX));
                break;
            }
            case Op::kShl:
                need(0, self);
                need(1, true);
                break;
            case Op::kTwoComp:
                need(0, items_[item.kids[1]].range.high > 64);
                need(1, true);
                break;
            case Op::kSelect:
                need(0, true);
                need(1, self);
                need(2, self);
                break;
            case Op::kSigned:
            case Op::kWide:
                break;
            default:
                for (std::size_t kid = 0; kid < item.arity; ++kid) need(kid, true);
        }
    }
    return exact;
}

Expression ExpressionBuilder::finish(Node root, unsigned bits, const std::string& where) const {
    std::vector<bool> needed(items_.size(), false);
    needed[root] = true;
    for (Node i = root + 1; i-- > 0;)
        if (needed[i])
            for (std::size_t kid = 0; kid < items_[i].arity; ++kid) needed[items_[i].kids[kid]] = true;

    const std::vector<bool> exact = find_exact(root, bits);
    bool wide = false;
    for (Node i = 0; i <= root; ++i) {
        const Item& item = items_[i];
        if (!needed[i]) continue;
        if (item.arity > 0 && (item.op == Op::kWide || item.op == Op::kLoadWide)) wide = true;
        if (exact[i] && !item.range.within(INT64_MIN, INT64_MAX)) wide = true;
    }
    if (wide) {
        // Orders and shifts to the right look at the sign, which an unbounded number of 128 bits does not
        // have.
        for (Node i = 0; i <= root; ++i) {
            if (!needed[i] || items_[i].arity == 0) continue;
            const Op op = items_[i].op;
            if (op != Op::kLt && op != Op::kLe && op != Op::kGt && op != Op::kGe && op != Op::kShr &&
                op != Op::kDiv && op != Op::kMod && op != Op::kUSat && op != Op::kSat)
                continue;
            for (std::size_t kid = 0; kid < items_[i].arity; ++kid)
                if (!items_[items_[i].kids[kid]].range.bounded)
                    throw ProgramError(where + ": arithmetic on more than 126 bits is not supported");
        }
    }

    Expression::Code code;
    std::vector<Operand> place(items_.size());
    for (Node i = 0; i <= root; ++i) {
        const Item& item = items_[i];
        if (!needed[i]) continue;
        if (item.arity == 0) {
            place[i] = item.leaf;
            if (item.leaf.source == Source::kConstant) {
                place[i].index = static_cast<std::uint32_t>(code.constants.size());
                code.constants.push_back(static_cast<std::uint64_t>(item.value));
                code.wide_constants.push_back(item.value);
            }
            continue;
        }
        Instruction instruction{item.op, place[item.kids[0]], {}, {}};
        instruction.b = item.arity > 1 ? place[item.kids[1]] : instruction.a;
        instruction.c = item.arity > 2 ? place[item.kids[2]] : instruction.a;
        place[i] = {Source::kTemporary, static_cast<std::uint32_t>(code.instructions.size())};
        code.instructions.push_back(instruction);
    }
    code.result = place[root];
    if (code.instructions.size() > Expression::kMaxInstructions)
        throw ProgramError(where + ": expression of more than " +
                           std::to_string(Expression::kMaxInstructions) + " operations");
    Expression out;
    out.code_ = std::make_shared<const Expression::Code>(std::move(code));
    out.find_shape(wide);
    return out;
}

}  // namespace csaud::sw
