// Hosts on a fabric of P4 switches under one engine's time, and what they are asked to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "csaud_sim/hosts/bystander.hpp"
#include "csaud_sim/hosts/flows.hpp"
#include "csaud_sim/hosts/host.hpp"
#include "csaud_sim/hosts/ledger.hpp"
#include "csaud_sim/hosts/oracle.hpp"

namespace csaud::sim {

struct Settings {
    LinkModel links;
    bool payloads = true;              // carried; otherwise frames are only as long as with them
    std::optional<std::size_t> trace;  // entries that are kept; nothing: no trace
    bool ledger = false;               // of copies, messages and links
    std::optional<Nanos> oracle;       // senders learn of each lost copy of DATA so long after its loss
};

class Simulation {
  public:
    // The fabric outlives this object; its time becomes this one's.
    Simulation(sw::Fabric& fabric, std::unique_ptr<Engine> engine, const Settings& settings);

    // Rank n of the job is host n. std::invalid_argument where it is not its turn.
    void add_host(EndpointConfig config, const Clock& clock, sw::Switch& at, sw::PortId port, const Nic& nic);
    // Everybody gets everybody's address.
    void connect();
    Host& host(std::size_t index) { return *hosts_.at(index); }
    std::size_t hosts() const { return hosts_.size(); }

    void start(std::size_t host, collectives::Execution& execution, Nanos at);
    void add_flows(std::span<const Flow> flows) { flows_.add(flows); }
    const std::vector<Flow>& flows() const { return flows_.all(); }

    // From now on, of the host at this place; where there is none yet, of one that does nothing else. Returns
    // which of all they are. std::invalid_argument where the plan or the place cannot be.
    std::size_t add_bursts(const BurstPlan& plan, sw::Switch& at, sw::PortId port, const Nic& nic);
    // No more of any.
    void stop_bursts();
    const std::vector<std::unique_ptr<Bursts>>& bursts() const { return bursts_; }

    // Until all that was asked for is over, or with `each` something of it, or something failed (true); or
    // until `until` has come.
    bool run(Nanos until, bool each = false);
    // Until that time.
    void advance(Nanos until);

    Nanos now() const { return engine_->now(); }
    bool quiet() const;
    std::size_t failures() const { return open_work_.failures(); }
    std::size_t open() const { return open_work_.open(); }
    std::uint64_t hops() const { return network_.hops(); }
    const std::optional<Trace>& trace() const { return trace_; }
    const std::optional<Ledger>& ledger() const { return ledger_; }
    Network& network() { return network_; }

  private:
    sw::Fabric& fabric_;
    std::unique_ptr<Engine> engine_;
    std::optional<Trace> trace_;
    Network network_;
    Frames frames_;
    OpenWork open_work_{*engine_};
    std::optional<Ledger> ledger_;
    Hosts hosts_;
    Parties parties_;
    std::optional<Oracle> oracle_;
    using Where = std::pair<const sw::Switch*, sw::PortId>;
    std::map<Where, Host*> host_at_;
    std::map<Where, std::unique_ptr<Bystander>> bystanders_;
    std::vector<std::unique_ptr<Bursts>> bursts_;
    Flows flows_{*engine_, open_work_, parties_};
};

}  // namespace csaud::sim
