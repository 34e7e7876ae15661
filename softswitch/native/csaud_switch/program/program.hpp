// A loaded program on one switch: what it does, which others may share, and tables and state of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "csaud_switch/model/state.hpp"
#include "csaud_switch/program/logic.hpp"
#include "csaud_switch/tables/action_profile.hpp"
#include "csaud_switch/tables/table.hpp"

namespace csaud::sw {

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
    std::shared_ptr<const Logic> logic;

    std::vector<std::unique_ptr<Table>> tables;
    std::vector<std::unique_ptr<ActionProfile>> profiles;
    std::vector<CounterArray> counters;
    std::vector<MeterArray> meters;
    std::vector<RegisterArray> registers;
    std::vector<ValueSet> value_sets;
    std::vector<Digest> digests;

    // The same program for another switch, as it was loaded. Of one that no switch runs yet.
    std::unique_ptr<Program> copy() const;

    Table& table(const std::string& name);
    ActionProfile& profile(const std::string& name);
    CounterArray& counter(const std::string& name);
    MeterArray& meter(const std::string& name);
    RegisterArray& register_array(const std::string& name);
    ValueSet& value_set(const std::string& name);
    Digest& digest(const std::string& name);
};

}  // namespace csaud::sw
