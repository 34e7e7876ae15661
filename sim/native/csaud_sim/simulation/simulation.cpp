#include "csaud_sim/simulation/simulation.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace csaud::sim {

Simulation::Simulation(sw::Fabric& fabric, std::unique_ptr<Engine> engine, const Settings& settings)
    : fabric_(fabric),
      engine_(std::move(engine)),
      network_(fabric, *engine_, settings.links),
      frames_(settings.payloads) {
    if (settings.trace) network_.trace(&trace_.emplace(*settings.trace));
    if (settings.ledger || settings.oracle) network_.watch(&ledger_.emplace().copies);
    if (settings.oracle) ledger_->copies.ask(&oracle_.emplace(*engine_, hosts_, *settings.oracle));
}

void Simulation::add_host(EndpointConfig config, const Clock& clock, sw::Switch& at, sw::PortId port,
                          const Nic& nic) {
    if (config.rank != hosts_.size())
        throw std::invalid_argument("rank " + std::to_string(config.rank) + " is added as host " +
                                    std::to_string(hosts_.size()) + ": ranks are added in their order");
    if (!frames_.real()) {
        if (config.auth.on())
            throw std::invalid_argument("packets are authenticated, but payloads are not carried");
        config.make_icrc = config.verify_icrc = false;
    }
    hosts_.push_back(std::make_unique<Host>(
        Host::Place{*engine_, network_, frames_, open_work_, flows_, ledger_ ? &*ledger_ : nullptr}, config,
        clock, at, port, nic));
    host_at_[{&at, port}] = hosts_.back().get();
    parties_.push_back(hosts_.back().get());
}

std::size_t Simulation::add_bursts(const BurstPlan& plan, sw::Switch& at, sw::PortId port, const Nic& nic) {
    auto bursts = std::make_unique<Bursts>(plan, now());
    const Where where{&at, port};
    const auto host = host_at_.find(where);
    if (host == host_at_.end() && !bystanders_.contains(where))
        bystanders_[where] = std::make_unique<Bystander>(*engine_, network_, at, port, nic);
    bursts_.push_back(std::move(bursts));
    if (host != host_at_.end())
        host->second->send(*bursts_.back());
    else
        bystanders_.at(where)->send(*bursts_.back());
    return bursts_.size() - 1;
}

void Simulation::stop_bursts() {
    for (const auto& bursts : bursts_) bursts->stop();
}

void Simulation::connect() {
    for (const auto& host : hosts_)
        for (const auto& peer : hosts_) {
            const EndpointConfig& config = peer->endpoint().config();
            if (peer != host) host->endpoint().set_peer(config.rank, config.local.ipv4, config.local.qpn);
        }
}

void Simulation::start(std::size_t host, collectives::Execution& execution, Nanos at) {
    hosts_.at(host)->start(execution, at);
}

bool Simulation::run(Nanos until, bool each) {
    const bool over = open_work_.run(until, each);
    fabric_.advance(now());
    return over;
}

void Simulation::advance(Nanos until) {
    if (until > now()) engine_->run(until);
    fabric_.advance(now());
}

bool Simulation::quiet() const {
    return network_.empty() &&
           std::ranges::all_of(hosts_, [&](const auto& host) { return host->quiet(now()); });
}

}  // namespace csaud::sim
