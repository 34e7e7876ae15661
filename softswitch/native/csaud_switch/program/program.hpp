// A loaded program: its code, its tables and its state.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "csaud_switch/model/calculation.hpp"
#include "csaud_switch/model/layout.hpp"
#include "csaud_switch/model/state.hpp"
#include "csaud_switch/program/action.hpp"
#include "csaud_switch/program/checksum.hpp"
#include "csaud_switch/program/parser.hpp"
#include "csaud_switch/tables/action_profile.hpp"
#include "csaud_switch/tables/table.hpp"

namespace csaud::sw {

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

// A message to the control plane: fields, or constants where `name` is empty.
struct Digest {
    struct Element {
        std::string name;
        FieldRef field;
        std::uint64_t value[2] = {0, 0};  // low word first
    };
    std::string name;
    std::vector<Element> elements;
    bool enabled = false;  // somebody wants them
};

struct Program {
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
    std::vector<std::unique_ptr<Table>> tables;
    std::vector<std::unique_ptr<ActionProfile>> profiles;
    std::vector<CounterArray> counters;
    std::vector<MeterArray> meters;
    std::vector<RegisterArray> registers;
    std::vector<ValueSet> value_sets;
    std::vector<Digest> digests;
    std::vector<FieldList> field_lists;  // by id

    Table& table(const std::string& name);
    ActionProfile& profile(const std::string& name);
    CounterArray& counter(const std::string& name);
    MeterArray& meter(const std::string& name);
    RegisterArray& register_array(const std::string& name);
    ValueSet& value_set(const std::string& name);
    Digest& digest(const std::string& name);
};

}  // namespace csaud::sw
