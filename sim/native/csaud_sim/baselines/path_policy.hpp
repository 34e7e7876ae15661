// Which entropy value a sprayed packet carries, and what its sender learns of the path that it stands for:
// the path policies of Ultra Ethernet's reference simulator (ultraethernet/uet-htsim), by their behaviour.
//
// Without I/O; a policy belongs to one connection.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "csaud_sim/engine/engine.hpp"

namespace csaud::sim::baselines {

// What came of a packet with an entropy value.
enum class PathNews : std::uint8_t {
    good,     // acknowledged
    marked,   // acknowledged, with a congestion mark
    trimmed,  // cut, at another place than the receiver's own link
    timeout,  // nothing was heard; of which value is not known
};

class PathPolicy {
  public:
    virtual ~PathPolicy() = default;
    // For the next packet.
    virtual std::uint16_t next(Nanos now) = 0;
    virtual void learn(std::uint16_t path, PathNews news, Nanos now) = 0;
};

// By name: `oblivious` (each value once a round, in another order every round), `bitmap` (the same, values
// with bad news are skipped), `reps` (values that came back unmarked are used again, freshest eight kept),
// `mixed` (such values first, otherwise bitmap). `paths`, a power of two, values. std::invalid_argument.
std::unique_ptr<PathPolicy> make_path_policy(std::string_view name, std::uint16_t paths, std::uint64_t seed);

}  // namespace csaud::sim::baselines
