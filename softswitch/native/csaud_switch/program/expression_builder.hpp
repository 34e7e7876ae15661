// Builds expressions: equal subexpressions are one (p4c repeats them without end), and operands' ranges say
// whether 64-bit words suffice.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "csaud_switch/model/layout.hpp"
#include "csaud_switch/program/expression.hpp"
#include "csaud_switch/program/expression_range.hpp"

namespace csaud::sw {

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
        Range range;
    };

    Node add(const Item& item);
    Node add(Op op, std::initializer_list<Node> kids);
    Node read(Operand leaf, unsigned width);
    std::vector<bool> find_exact(Node root, unsigned bits) const;

    std::vector<Item> items_;
};

}  // namespace csaud::sw
