#include "csaud_sim/baselines/transports.hpp"

#include <stdexcept>

#include "csaud_sim/baselines/dcp.hpp"
#include "csaud_sim/baselines/irn.hpp"
#include "csaud_sim/baselines/ndp.hpp"
#include "csaud_sim/baselines/rc.hpp"
#include "csaud_sim/baselines/uec.hpp"

namespace csaud::sim::baselines {

const std::vector<TransportKind>& transports() {
    static const std::vector<TransportKind> all{rc(), dcqcn(), irn(), dcp(), ndp(), uec()};
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
