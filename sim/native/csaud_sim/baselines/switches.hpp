// The parameters that every transport has for the plain switches under it.
#pragma once

#include <cstdint>
#include <vector>

#include "csaud_sim/baselines/parameters.hpp"
#include "csaud_sim/plain/switch_model.hpp"

namespace csaud::sim::baselines {

struct SwitchDefaults {
    plain::Spray spray = plain::Spray::ecmp;
    bool ecn = false;
    bool trim = false;
    bool pfc = false;
    double queue = 0;           // packets; 0: as CSA-UD's DATA has
    double kmin = 0, kmax = 0;  // bytes; 0: as CSA-UD's
    double pmax = 1;
    bool mark_leaving = false;
    double cut = 60;  // bytes of the frame that is left
};

// What the P4 program's limits would be at a port, packets.
struct PortFacts {
    std::uint64_t data = 0, control = 0, low = 0, high = 0;
    std::uint64_t rate_bps = 0;
    std::uint32_t mark_seed = 0;
};

std::vector<Parameter> switch_parameters(const SwitchDefaults& defaults);
// Those and a transport's own.
std::vector<Parameter> with_switches(std::vector<Parameter> own, const SwitchDefaults& defaults);
plain::SwitchModel switch_model(const Parameters& parameters, bool failover = false);
plain::Room room_of(const Parameters& parameters, const PortFacts& facts);

}  // namespace csaud::sim::baselines
