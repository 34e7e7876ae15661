// State that a program keeps between packets: counters, meters, registers, and the members of value sets.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
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

// What a meter allows: committed and peak rate in packets or bytes a second, and bursts in packets or bytes.
struct MeterRates {
    double cir = 0;
    std::uint64_t cburst = 0;
    double pir = 0;
    std::uint64_t pburst = 0;
};

// Two rates, three colours (RFC 2698), colour-blind, in the reference's arithmetic: tokens are counted from
// the switch's start, so that what is rounded off never adds up.
class Meter {
  public:
    void configure(const std::optional<MeterRates>& rates);
    const std::optional<MeterRates>& rates() const { return rates_; }

    // 0 green, 1 yellow, 2 red; green while there are no rates. now: microseconds since the switch's start.
    unsigned execute(std::uint64_t amount, std::uint64_t now_us);

  private:
    struct Bucket {
        double per_us = 0;
        std::uint64_t size = 0;
        std::uint64_t tokens = 0;
        std::uint64_t counted = 0;  // tokens that have come since the start

        bool take(std::uint64_t amount, std::uint64_t now_us);
    };

    std::optional<MeterRates> rates_;
    Bucket committed_, peak_;
};

struct MeterArray {
    std::string name;
    std::string table;  // of a direct meter, whose cells are in the table's entries
    bool bytes = false;
    std::vector<Meter> cells;
};

// Values that a parser's transition compares with, set by the control plane.
struct ValueSet {
    std::string name;
    std::uint32_t size = 0;                           // members at most, 0: any number
    unsigned bits = 0;                                // of all parts together
    bool used = false;                                // by the parser
    std::vector<unsigned> widths;                     // of the key's parts
    std::vector<std::vector<std::uint64_t>> members;  // a word a part, in ascending order
};

struct RegisterArray {
    std::string name;
    unsigned width = 0;  // bits, 128 at most
    std::uint32_t size = 0;
    std::vector<std::uint64_t> words;  // one or two a cell, low word first
};

}  // namespace csaud::sw
