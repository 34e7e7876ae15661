// Where the code of a program, which is that of many switches, finds what each switch has of its own: in a
// list of registers, of the tables that are applied, in the order in which packets meet them, and of
// counters. So what every packet needs lies close together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

// Of the program's tables, each once.
std::vector<std::uint32_t> applied_tables(const Logic& logic);

class Places {
  public:
    explicit Places(const Program& program);

    static std::size_t of_register(std::uint32_t index) { return index; }
    // Of one that is applied.
    std::size_t of_table(std::uint32_t index) const { return tables_[index]; }
    std::size_t of_counter(std::uint32_t index) const { return first_counter_ + index; }

    static std::vector<void*> list(Program& program);

  private:
    std::vector<std::size_t> tables_;
    std::size_t first_counter_;
};

}  // namespace csaud::sw
