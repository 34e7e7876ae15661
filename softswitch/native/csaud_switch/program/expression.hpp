// Expressions of the program, compiled to straight-line code.
//
// The language is that of BMv2's JSON: integers of unlimited precision, cut to a width only where a value is
// stored. Where 64-bit words do not suffice (see expression_builder.hpp), the same code runs on 128 bits.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "csaud_switch/base/value.hpp"
#include "csaud_switch/program/operation.hpp"

namespace csaud::sw {

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

}  // namespace csaud::sw
