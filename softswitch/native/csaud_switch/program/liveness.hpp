// Which words of a packet have to be cleared before a program sees it, and which it has to keep in a queue.
//
// p4c gives each temporary a word of its own, and most are written before anything reads them. Those that
// some way through parser, ingress, queue and egress may read first have to be 0; what earlier packets left
// in the others is never seen.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

// In ascending order. All words of a program that is not understood in full: with stacks, unions or fields of
// variable length, or actions called by its parser.
std::vector<std::uint32_t> words_to_clear(const Program& program);

// What egress and deparser may read of what was there before, in ascending order; nothing of a program that
// is not understood in full.
std::optional<std::vector<std::uint32_t>> words_to_keep(const Program& program);

}  // namespace csaud::sw
