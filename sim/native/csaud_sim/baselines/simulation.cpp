#include "csaud_sim/baselines/simulation.hpp"

#include <algorithm>

namespace csaud::sim::baselines {

Simulation::Simulation(const std::string& transport, const std::map<std::string, double>& parameters,
                       std::unique_ptr<Engine> engine, const LinkModel& links,
                       std::optional<std::size_t> trace, bool failover)
    : kind_(transport_named(transport)),
      parameters_(kind_.parameters, parameters),
      engine_(std::move(engine)),
      network_(*engine_, links, switch_model(parameters_, failover)) {
    if (!trace) return;
    trace_.emplace(*trace);
    network_.trace(&*trace_);
}

Host& Simulation::add_host(Seat seat, std::uint32_t at, const plain::Wire& wire) {
    seat.rank = static_cast<std::uint16_t>(hosts_.size());
    seat.rate_bps = wire.rate_bps;
    hosts_.push_back(std::make_unique<Host>(Host::Place{*engine_, network_, open_work_, flows_, messages_},
                                            kind_, parameters_, seat, at, wire));
    parties_.push_back(hosts_.back().get());
    return *hosts_.back();
}

void Simulation::start(std::size_t host, collectives::Execution& execution, Nanos at) {
    hosts_.at(host)->start(execution, at);
}

bool Simulation::run(Nanos until, bool each) {
    return open_work_.run(until, each);
}

void Simulation::advance(Nanos until) {
    if (until > now()) engine_->run(until);
}

bool Simulation::quiet() const {
    return network_.empty() && std::ranges::all_of(hosts_, [](const auto& host) { return host->quiet(); });
}

}  // namespace csaud::sim::baselines
