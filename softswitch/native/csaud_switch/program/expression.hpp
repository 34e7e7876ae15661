// Expressions of the program, compiled to straight-line code.
//
// The language is that of BMv2's JSON: integers of unlimited precision, cut to a width only where a value is
// stored. A builder shares equal subexpressions (p4c repeats them without end) and finds out from the
// operands' ranges whether 64-bit words suffice; where they do not, the same code runs on 128 bits.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "csaud_switch/base/value.hpp"
#include "csaud_switch/model/layout.hpp"

namespace csaud::sw {

enum class Op : std::uint8_t {
    kAdd,
    kSub,
    kMul,
    kDiv,
    kMod,
    kShl,
    kShr,
    kAnd,
    kOr,
    kXor,
    kNeg,
    kEq,
    kNe,
    kLt,
    kLe,
    kGt,
    kGe,
    kBoth,      // boolean and
    kEither,    // boolean or
    kNot,       // boolean not
    kToBool,    // x != 0
    kTwoComp,   // x as a two's complement number of b bits
    kUSat,      // clamp to an unsigned number of b bits
    kSat,       // clamp to a signed number of b bits
    kSelect,    // a ? b : c
    kSigned,    // load a field of b bits with its sign
    kWide,      // load a field of two words
    kLoad,      // word b + a * stride, when a is less than a count; c holds both
    kLoadWide,  // two words likewise
    kSameBits,  // fields of variable length whose words begin at a and b are equal
    // The same on numbers of 128 bits without a sign; above 126 bits the others take the top bit for one.
    kShrU,
    kLtU,
    kLeU,
};

enum class Source : std::uint8_t { kSlot, kConstant, kParameter, kTemporary };

struct Operand {
    Source source = Source::kConstant;
    std::uint32_t index = 0;
};

struct Instruction {
    Op op;
    Operand a, b, c;
};

// What an expression is evaluated on.
struct Frame {
    const std::uint64_t* slots;
    const std::uint64_t* parameters;  // of the action, may be null elsewhere
    const std::uint8_t* bytes;        // the packet's buffer
};

class Expression {
  public:
    static constexpr std::size_t kMaxInstructions = 384;

    // The low 64 bits of the value. Most expressions are one of a few simple shapes; only the others are run
    // as code.
    std::uint64_t eval(const Frame& frame) const {
        switch (shape_) {
            case Shape::kConstant:
                return value_;
            case Shape::kSlot:
                return frame.slots[index_];
            case Shape::kParameter:
                return frame.parameters[index_];
            case Shape::kSlotIsSet:
                return frame.slots[index_] != 0;
            case Shape::kSlotEquals:
                return frame.slots[index_] == value_;
            case Shape::kSlotDiffers:
                return frame.slots[index_] != value_;
            case Shape::kSlotMasked:
                return frame.slots[index_] & value_;
            case Shape::kCode:
                return eval_narrow(frame);
            case Shape::kWideCode:
                return static_cast<std::uint64_t>(eval_wide(frame));
        }
        return 0;
    }
    Wide eval_wide(const Frame& frame) const;

    // Adds the words that it looks at; false where that depends on the packet.
    bool reads(std::vector<std::uint32_t>& words) const;

    bool is_constant() const { return shape_ == Shape::kConstant; }
    bool is_slot() const { return shape_ == Shape::kSlot; }
    std::uint64_t constant() const { return value_; }
    std::uint32_t slot() const { return index_; }
    // The first word of a field of two words that it is as it stands; nullptr where it is anything else.
    const std::uint32_t* wide_slot() const;

    struct Code {
        std::vector<Instruction> instructions;
        std::vector<std::uint64_t> constants;
        std::vector<Wide> wide_constants;
        Operand result;
    };
    // The instructions; nullptr for a plain constant, and where they run on 128 bits.
    const Code* narrow_code() const { return shape_ == Shape::kWideCode ? nullptr : code_.get(); }

  private:
    friend class ExpressionBuilder;

    enum class Shape : std::uint8_t {
        kConstant,
        kSlot,
        kParameter,
        kSlotIsSet,
        kSlotEquals,
        kSlotDiffers,
        kSlotMasked,
        kCode,
        kWideCode,
    };

    std::uint64_t eval_narrow(const Frame& frame) const;
    void find_shape(bool wide);

    Shape shape_ = Shape::kConstant;
    std::uint32_t index_ = 0;
    std::uint64_t value_ = 0;
    std::shared_ptr<const Code> code_;
};

// Builds one expression from its leaves up; equal nodes are one node.
class ExpressionBuilder {
  public:
    using Node = std::uint32_t;

    // large: a number from 2^127 on, given by its bits.
    Node constant(Wide value, bool large = false);
    Node field(const FieldRef& field);
    Node parameter(std::uint32_t word, unsigned width);
    Node make(Op op, Node a);
    Node make(Op op, Node a, Node b);
    Node make(Op op, Node a, Node b, Node c);
    // The field of an element of a stack: `first` is that of element 0. Zero beyond the stack's end.
    Node element(const FieldRef& first, Node index, std::uint32_t stride, std::uint32_t count);
    // Are two fields of variable length equal?
    Node same_bits(std::uint32_t slot, std::uint32_t other_slot);

    // bits: how many low bits of the result are used; 0 when its exact value matters. Throws ProgramError
    // when the value needs more than 127 bits somewhere.
    Expression finish(Node root, unsigned bits, const std::string& where) const;

  private:
    struct Item {
        Op op{};
        std::uint8_t arity = 0;  // 0: a leaf
        Operand leaf;
        std::array<Node, 3> kids{};
        Wide value = 0;  // of a constant
        Wide low = 0;    // the range that the value is known to lie in
        Wide high = 0;
        bool bounded = true;  // the range holds
        bool large = false;   // otherwise: 0 or more, and less than 2^128
    };

    Node add(const Item& item);
    void find_range(Item& item) const;
    bool find_large(const Item& item) const;
    Op without_sign(Op op, Node& a, Node& b) const;
    std::vector<bool> find_exact(Node root, unsigned bits) const;

    std::vector<Item> items_;
};

}  // namespace csaud::sw
