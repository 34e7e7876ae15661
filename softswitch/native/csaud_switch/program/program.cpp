#include "csaud_switch/program/program.hpp"

#include "csaud_switch/base/error.hpp"

namespace csaud::sw {

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

RegisterArray& Program::register_array(const std::string& name) {
    for (RegisterArray& array : registers)
        if (array.name == name) return array;
    throw UnknownName("no register '" + name + "' in the program");
}

}  // namespace csaud::sw
