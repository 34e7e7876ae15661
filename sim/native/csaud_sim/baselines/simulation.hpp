// Hosts of one transport on a network of plain switches under one engine's time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "csaud_sim/baselines/host.hpp"
#include "csaud_sim/baselines/switches.hpp"
#include "csaud_sim/hosts/flows.hpp"

namespace csaud::sim::baselines {

class Simulation {
  public:
    // failover: of switches, see SwitchModel. std::invalid_argument where the transport is not known, or has
    // no such parameter.
    Simulation(const std::string& transport, const std::map<std::string, double>& parameters,
               std::unique_ptr<Engine> engine, const LinkModel& links, std::optional<std::size_t> trace,
               bool failover = false);

    plain::Network& network() { return network_; }
    const Parameters& parameters() const { return parameters_; }
    // The next host; its rank is as many as there were.
    Host& add_host(Seat seat, std::uint32_t at, const plain::Wire& wire);
    Host& host(std::size_t index) { return *hosts_.at(index); }
    std::size_t hosts() const { return hosts_.size(); }

    void start(std::size_t host, collectives::Execution& execution, Nanos at);
    void add_flows(std::span<const Flow> flows) { flows_.add(flows); }
    const std::vector<Flow>& flows() const { return flows_.all(); }
    // As of csaud::sim::Simulation.
    bool run(Nanos until, bool each = false);
    void advance(Nanos until);

    Nanos now() const { return engine_->now(); }
    bool quiet() const;
    std::size_t open() const { return open_work_.open(); }
    std::size_t failures() const { return open_work_.failures(); }
    std::uint64_t hops() const { return network_.hops(); }
    const Messages& messages() const { return messages_; }
    const std::optional<Trace>& trace() const { return trace_; }

  private:
    const TransportKind& kind_;
    Parameters parameters_;
    std::unique_ptr<Engine> engine_;
    std::optional<Trace> trace_;
    plain::Network network_;
    OpenWork open_work_{*engine_};
    Messages messages_;
    std::vector<std::unique_ptr<Host>> hosts_;
    Parties parties_;
    Flows flows_{*engine_, open_work_, parties_};
};

}  // namespace csaud::sim::baselines
