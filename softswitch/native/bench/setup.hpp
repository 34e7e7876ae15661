// The project's program in a switch, with tables filled as a benchmark wants them, and packets that hit them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "csaud_switch/fabric/fabric.hpp"

namespace csaud::sw::bench {

inline constexpr PortId kPaths = 4;  // ports 1 to 4
inline constexpr PortId kHost = 5;

struct Fill {
    std::string spray = "ecmp";
    std::uint32_t routes = 1;    // entries of the LPM table
    std::uint32_t policies = 1;  // entries of the ternary table
    std::uint32_t masks = 32;    // different masks among them
    std::uint32_t buckets = 0;   // entries of the exact table
};

// The same entries as JSON, for who installs them in another way: {"groups", "buckets", "buckets_of_a_group",
// "routes": [[prefix, length, group]], "policies": [[asked, its mask, cls, its mask, comm, its mask,
// priority]]}.
std::string describe(const Fill& fill, std::uint64_t seed);

// The program with tables large enough for the fill, whatever their sizes in P4.
std::string with_sizes(const std::string& bmv2_json, const Fill& fill);

// Tables of a switch whose ports 1 to 4 lead on and whose port 5 is a host's.
void configure(Switch& target, const Fill& fill, std::uint64_t seed);

// Packets whose keys are drawn from all over the tables.
std::vector<std::vector<std::uint8_t>> packets(const Fill& fill, std::size_t count, std::size_t bytes,
                                               std::uint64_t seed);

}  // namespace csaud::sw::bench
