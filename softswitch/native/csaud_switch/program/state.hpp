// State that a program keeps between packets: counters and registers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "csaud_switch/base/value.hpp"

namespace csaud::sw {

struct Count {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;

    void add(std::uint64_t octets) {
        ++packets;
        bytes += octets;
    }
};

struct CounterArray {
    std::string name;
    std::string table;  // of a direct counter, whose cells are in the table's entries
    std::vector<Count> cells;
};

struct RegisterArray {
    std::string name;
    unsigned width = 0;  // bits, 128 at most
    std::uint32_t size = 0;
    std::vector<std::uint64_t> words;  // one or two a cell, low word first
};

}  // namespace csaud::sw
