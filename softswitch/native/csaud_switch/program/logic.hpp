// What a program does, which is the same on all switches that run it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "csaud_switch/model/calculation.hpp"
#include "csaud_switch/model/layout.hpp"
#include "csaud_switch/program/action.hpp"
#include "csaud_switch/program/checksum.hpp"
#include "csaud_switch/program/parser.hpp"
#include "csaud_switch/tables/table.hpp"

namespace csaud::sw {

class CompiledProgram;

// A step of a pipeline: apply a table, take a branch, or call an action.
struct FlowNode {
    enum class Kind : std::uint8_t { kTable, kCondition, kCall };
    Kind kind = Kind::kTable;
    std::uint32_t index = 0;  // table or action
    Expression condition;
    std::uint32_t next_true = kEnd;  // of a call: what follows
    std::uint32_t next_false = kEnd;
};

struct Pipeline {
    std::string name;
    std::vector<FlowNode> nodes;
    std::uint32_t start = kEnd;
};

struct Deparser {
    std::vector<std::uint32_t> order;      // headers
    std::vector<std::uint32_t> checksums;  // updated first
};

struct FieldList {
    std::vector<FieldRef> fields;
};

struct Logic {
    Logic();
    ~Logic();
    Logic(const Logic&) = delete;
    Logic& operator=(const Logic&) = delete;

    Layout layout;
    std::vector<HeaderCode> headers;
    TargetFields target;

    Parser parser;
    std::vector<std::uint32_t> verified;  // checksums that the parser verifies
    Pipeline ingress, egress;
    Deparser deparser;

    std::vector<Action> actions;
    std::vector<Calculation> calculations;
    std::vector<Checksum> checksums;
    std::vector<FieldList> field_lists;  // by id

    // Its machine code, made by the first switch that wants it; none where code cannot be made. Switches may
    // belong to several threads.
    struct Compiled {
        std::once_flag made;
        std::unique_ptr<const CompiledProgram> code;
    };
    mutable Compiled compiled;
};

}  // namespace csaud::sw
