#include "csaud_sim/baselines/transports.hpp"

#include <stdexcept>

#include "csaud_sim/baselines/rc.hpp"

namespace csaud::sim::baselines {

const std::vector<TransportKind>& transports() {
    static const std::vector<TransportKind> all{rc()};
    return all;
}

const TransportKind& transport_named(const std::string& name) {
    std::string known;
    for (const TransportKind& each : transports()) {
        if (each.name == name) return each;
        known += (known.empty() ? "" : ", ") + each.name;
    }
    throw std::invalid_argument("there is no transport " + name + "; expected one of " + known);
}

}  // namespace csaud::sim::baselines
