#include "csaud_switch/program/program.hpp"

#include "csaud_switch/base/error.hpp"
#include "csaud_switch/program/compile.hpp"

namespace csaud::sw {

Logic::Logic() = default;
Logic::~Logic() = default;

std::unique_ptr<Program> Program::copy() const {
    auto made = std::make_unique<Program>();
    made->logic = logic;
    for (const auto& table : tables) made->tables.push_back(table->copy());
    for (const auto& profile : profiles) made->profiles.push_back(profile->copy());
    made->counters = counters;
    made->meters = meters;
    made->registers = registers;
    made->value_sets = value_sets;
    made->digests = digests;
    return made;
}

Table& Program::table(const std::string& name) {
    for (const auto& table : tables)
        if (table->name == name) return *table;
    throw UnknownName("no table '" + name + "' in the program");
}

ActionProfile& Program::profile(const std::string& name) {
    for (const auto& profile : profiles)
        if (profile->name == name) return *profile;
    throw UnknownName("no action profile '" + name + "' in the program");
}

CounterArray& Program::counter(const std::string& name) {
    for (CounterArray& counter : counters)
        if (counter.name == name) return counter;
    throw UnknownName("no counter '" + name + "' in the program");
}

MeterArray& Program::meter(const std::string& name) {
    for (MeterArray& meter : meters)
        if (meter.name == name) return meter;
    throw UnknownName("no meter '" + name + "' in the program");
}

ValueSet& Program::value_set(const std::string& name) {
    for (ValueSet& set : value_sets)
        if (set.name == name) return set;
    throw UnknownName("no value set '" + name + "' in the program");
}

Digest& Program::digest(const std::string& name) {
    for (Digest& digest : digests)
        if (digest.name == name) return digest;
    throw UnknownName("no digest '" + name + "' in the program");
}

RegisterArray& Program::register_array(const std::string& name) {
    for (RegisterArray& array : registers)
        if (array.name == name) return array;
    throw UnknownName("no register '" + name + "' in the program");
}

}  // namespace csaud::sw
