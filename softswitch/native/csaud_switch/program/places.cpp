#include "csaud_switch/program/places.hpp"

#include <algorithm>

namespace csaud::sw {

std::vector<std::uint32_t> applied_tables(const Logic& logic) {
    std::vector<std::uint32_t> found;
    for (const Pipeline* pipeline : {&logic.ingress, &logic.egress})
        for (const FlowNode& node : pipeline->nodes)
            if (node.kind == FlowNode::Kind::kTable && std::ranges::find(found, node.index) == found.end())
                found.push_back(node.index);
    return found;
}

Places::Places(const Program& program) : tables_(program.tables.size()) {
    std::size_t next = program.registers.size();
    for (const std::uint32_t table : applied_tables(*program.logic)) tables_[table] = next++;
    first_counter_ = next;
}

std::vector<void*> Places::list(Program& program) {
    std::vector<void*> arrays;
    for (RegisterArray& array : program.registers) arrays.push_back(array.words.data());
    for (const std::uint32_t table : applied_tables(*program.logic))
        arrays.push_back(program.tables[table].get());
    for (CounterArray& counter : program.counters) arrays.push_back(counter.cells.data());
    return arrays;
}

}  // namespace csaud::sw
