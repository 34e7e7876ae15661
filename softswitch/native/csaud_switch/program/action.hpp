// Actions: sequences of primitives, compiled.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "csaud_switch/model/layout.hpp"
#include "csaud_switch/program/expression.hpp"

namespace csaud::sw {

enum class PrimitiveOp : std::uint8_t {
    kAssignConstant,  // target = constant
    kAssignSlot,      // target = field, cut to the target's width
    kAssign,          // target = a
    kAssignWide,      // target of two words = a
    kAssignHeader,    // header index = header other
    kAddHeader,
    kRemoveHeader,
    kMarkToDrop,  // target, an egress_spec, = the drop port; the words at index and so on, `other` many, = 0
    kHash,        // target = a + calculation index mod b
    kRandom,      // target = uniform in [a, b]
    kRegisterRead,   // target = register index [a]
    kRegisterWrite,  // register index [a] = b
    kCount,          // counter index [a]
    kTruncate,       // to a bytes
    kExit,
    kAssert,
    kLog,
    kClone,     // session a, fields of list index
    kResubmit,  // fields of list index
    kRecirculate,
    kDigest,  // index
    kMeter,   // target = colour of meter index [a]
    kPush,    // a elements onto stack index
    kPop,
    kAssignStack,    // stack index = stack other
    kAssignUnion,    // union index = union other
    kAssignElement,  // target, given for element 0, of element b of stack index = a; other: which member
    kAssignAmong,    // header to[a] = header from[b]
    kAddAmong,       // header to[a] becomes valid
    kRemoveAmong,    // and invalid
    kAssignVarbit,   // target = the field of variable length whose words begin at index
    kJump,           // to primitive a
    kJumpIfZero,     // to primitive b when a is 0
    kNothing,
};

struct LogMessage {
    std::string text;
    std::vector<Expression> values;
};

struct Primitive {
    PrimitiveOp op = PrimitiveOp::kNothing;
    FieldRef target;
    std::uint64_t mask = 0;   // of the target
    std::uint32_t index = 0;  // header, calculation, register, counter, meter, digest, field list
    std::uint32_t other = 0;
    Expression a, b;
    // The same header of each element of a stack, of which an index chooses one when the packet is there; one
    // header and the index 0 where it is known before.
    std::vector<std::uint32_t> to, from;
    std::shared_ptr<const LogMessage> message;  // of a log message or assertion
};

struct ActionParameter {
    std::string name;
    unsigned width = 0;      // bits
    std::uint32_t word = 0;  // its first
};

struct Action {
    std::string name;
    std::uint32_t id = 0;  // in the JSON; several actions may share a name
    std::vector<ActionParameter> parameters;
    std::uint32_t words = 0;  // of all parameters
    std::vector<Primitive> primitives;
};

}  // namespace csaud::sw
