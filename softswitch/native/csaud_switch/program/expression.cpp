// Builds expressions. What is known of the range of each node is in expression_range.cpp.
#include "csaud_switch/program/expression.hpp"

#include <algorithm>

#include "csaud_switch/base/error.hpp"
#include "csaud_switch/program/expression_range.hpp"

namespace csaud::sw {

namespace {

bool fits_narrow(Wide low, Wide high) {
    return low >= INT64_MIN && high <= INT64_MAX;
}

}  // namespace

ExpressionBuilder::Node ExpressionBuilder::add(const Item& item) {
    for (Node i = 0; i < items_.size(); ++i) {
        const Item& other = items_[i];
        if (other.arity == item.arity && other.op == item.op && other.leaf.source == item.leaf.source &&
            other.leaf.index == item.leaf.index && other.kids == item.kids && other.value == item.value &&
            other.large == item.large)
            return i;
    }
    items_.push_back(item);
    return static_cast<Node>(items_.size() - 1);
}

ExpressionBuilder::Node ExpressionBuilder::constant(Wide value, bool large) {
    Item item;
    item.leaf.source = Source::kConstant;
    item.value = item.low = item.high = value;
    item.large = large;
    item.bounded = !large && value >= -kLimit && value <= kLimit;
    return add(item);
}

ExpressionBuilder::Node ExpressionBuilder::field(const FieldRef& field) {
    Item item;
    item.leaf = {Source::kSlot, field.slot};
    item.high = field.width >= 126 ? kLimit : (Wide{1} << field.width) - 1;
    item.bounded = field.width < 126;
    item.large = !item.bounded;
    if (field.width > 64) {
        Item raw = item;
        raw.bounded = true;
        raw.large = false;
        raw.high = static_cast<Wide>(mask64(64));
        const Node words = add(raw);
        item.op = Op::kWide;
        item.arity = 1;
        item.leaf = {};
        item.kids = {words, 0, 0};
        const Node whole = add(item);
        if (!field.is_signed) return whole;
        return make(Op::kTwoComp, whole, constant(field.width));
    }
    const Node raw = add(item);
    return field.is_signed ? make(Op::kSigned, raw, constant(field.width)) : raw;
}

ExpressionBuilder::Node ExpressionBuilder::parameter(std::uint32_t word, unsigned width) {
    Item item;
    item.leaf = {Source::kParameter, word};
    item.high = width >= 126 ? kLimit : (Wide{1} << width) - 1;
    item.bounded = width < 126;
    item.large = !item.bounded;
    if (width > 64) {
        Item raw = item;
        raw.bounded = true;
        raw.large = false;
        raw.high = static_cast<Wide>(mask64(64));
        item.op = Op::kWide;
        item.arity = 1;
        item.leaf = {};
        item.kids = {add(raw), 0, 0};
    }
    return add(item);
}

ExpressionBuilder::Node ExpressionBuilder::element(const FieldRef& first, Node index, std::uint32_t stride,
                                                   std::uint32_t count) {
    const bool two_words = first.width > 64;
    Item item;
    item.op = two_words ? Op::kLoadWide : Op::kLoad;
    item.arity = 3;
    item.kids = {index, constant(first.slot), constant(Wide{stride} << 32 | count)};
    item.bounded = first.width < 126;
    item.large = !item.bounded;
    item.high = item.bounded ? (Wide{1} << first.width) - 1 : kLimit;
    const Node value = add(item);
    if (!first.is_signed) return value;
    return make(two_words ? Op::kTwoComp : Op::kSigned, value, constant(first.width));
}

ExpressionBuilder::Node ExpressionBuilder::same_bits(std::uint32_t slot, std::uint32_t other_slot) {
    Item item;
    item.op = Op::kSameBits;
    item.arity = 2;
    item.kids = {constant(slot), constant(other_slot), 0};
    item.high = 1;
    return add(item);
}

ExpressionBuilder::Node ExpressionBuilder::make(Op op, Node a) {
    Item item;
    item.op = op;
    item.arity = 1;
    item.kids = {a, 0, 0};
    find_range(item);
    return add(item);
}

ExpressionBuilder::Node ExpressionBuilder::make(Op op, Node a, Node b) {
    op = without_sign(op, a, b);
    Item item;
    item.op = op;
    item.arity = 2;
    item.kids = {a, b, 0};
    // What p4c writes in many places: a mask that takes nothing away.
    if (op == Op::kAnd && items_[b].arity == 0 && items_[b].leaf.source == Source::kConstant) {
        const Item& left = items_[a];
        const Wide mask = items_[b].value;
        if (left.bounded && left.low >= 0 && mask == all_ones(mask) && left.high <= mask) return a;
    }
    find_range(item);
    return add(item);
}

ExpressionBuilder::Node ExpressionBuilder::make(Op op, Node a, Node b, Node c) {
    Item item;
    item.op = op;
    item.arity = 3;
    item.kids = {a, b, c};
    find_range(item);
    return add(item);
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
                const Item& a = items_[item.kids[0]];
                const Item& b = items_[item.kids[1]];
                need(0, self && !(b.bounded && b.low >= 0 && b.high <= INT64_MAX));
                need(1, self && !(a.bounded && a.low >= 0 && a.high <= INT64_MAX));
                break;
            }
            case Op::kShl:
                need(0, self);
                need(1, true);
                break;
            case Op::kTwoComp:
                need(0, items_[item.kids[1]].high > 64);
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
        if (exact[i] && !(item.bounded && fits_narrow(item.low, item.high))) wide = true;
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
                if (!items_[items_[i].kids[kid]].bounded)
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

bool Expression::reads(std::vector<std::uint32_t>& words) const {
    if (code_ == nullptr) return true;
    const auto look = [&](const Operand& operand) {
        if (operand.source == Source::kSlot) words.push_back(operand.index);
    };
    look(code_->result);
    for (const Instruction& instruction : code_->instructions) {
        if (instruction.op == Op::kLoad || instruction.op == Op::kLoadWide || instruction.op == Op::kSameBits)
            return false;
        look(instruction.a);
        look(instruction.b);
        look(instruction.c);
        if (instruction.op == Op::kWide && instruction.a.source == Source::kSlot)
            words.push_back(instruction.a.index + 1);
    }
    return true;
}

const std::uint32_t* Expression::wide_slot() const {
    if (shape_ != Shape::kWideCode || code_->instructions.size() != 1) return nullptr;
    const Instruction& only = code_->instructions.front();
    return only.op == Op::kWide && only.a.source == Source::kSlot ? &only.a.index : nullptr;
}

void Expression::find_shape(bool wide) {
    const Code& code = *code_;
    shape_ = wide ? Shape::kWideCode : Shape::kCode;
    if (code.instructions.empty()) {
        index_ = code.result.index;
        if (code.result.source == Source::kSlot) shape_ = Shape::kSlot;
        if (code.result.source == Source::kParameter) shape_ = Shape::kParameter;
        if (code.result.source == Source::kConstant) {
            shape_ = Shape::kConstant;
            value_ = code.constants[index_];
        }
        return;
    }
    const Instruction& only = code.instructions.front();
    if (wide || code.instructions.size() != 1 || only.a.source != Source::kSlot) return;
    if (only.op == Op::kToBool) {
        shape_ = Shape::kSlotIsSet;
        index_ = only.a.index;
    }
    if (only.b.source != Source::kConstant) return;
    const bool simple = only.op == Op::kEq || only.op == Op::kNe || only.op == Op::kAnd;
    if (!simple) return;
    shape_ = only.op == Op::kEq ? Shape::kSlotEquals
                                : (only.op == Op::kNe ? Shape::kSlotDiffers : Shape::kSlotMasked);
    index_ = only.a.index;
    value_ = code.constants[only.b.index];
}

}  // namespace csaud::sw
