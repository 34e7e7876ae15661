// Which transports there are beside CSA-UD.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "csaud_sim/baselines/parameters.hpp"
#include "csaud_sim/baselines/transport.hpp"

namespace csaud::sim::baselines {

struct TransportKind {
    std::string name, about;
    std::vector<Parameter> parameters;  // those of switches included
    std::unique_ptr<Transport> (*make)(const Parameters& parameters, const Seat& seat, Upper& upper);
};

const std::vector<TransportKind>& transports();
// std::invalid_argument names those that there are.
const TransportKind& transport_named(const std::string& name);

}  // namespace csaud::sim::baselines
