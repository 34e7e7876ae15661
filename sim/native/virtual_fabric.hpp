// Host endpoints attached to the ports of a fabric of P4 switches, under virtual time: the two native cores
// as they run on real machines, with an event loop in place of sockets and clocks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/endpoint_port.hpp"
#include "collectives/executor.hpp"
#include "csaud_host/endpoint/endpoint.hpp"
#include "csaud_switch/fabric/fabric.hpp"

namespace csaud::sim {

class VirtualFabric {
  public:
    // The fabric belongs to the caller and outlives this object.
    explicit VirtualFabric(sw::Fabric& fabric) : fabric_(fabric) {}

    // A rank at a memory port. NIC rate 0: unlimited. Ranks are added in their order.
    void add_rank(const EndpointConfig& config, sw::Switch& at, sw::PortId port, std::uint64_t nic_rate_bps);
    Endpoint& endpoint(std::uint16_t rank) { return *hosts_.at(rank).endpoint; }

    // Nothing more comes from or goes to this rank.
    void kill(std::uint16_t rank) { hosts_.at(rank).alive = false; }

    // Starts a collective of a rank; it must live until it has settled, or as long as this object.
    void start(std::uint16_t rank, collectives::Execution&);

    // Runs until some execution is over (true), or `until` has come.
    bool run(Nanos until);

    // Nobody has anything unfinished or queued, and nothing is under way.
    bool quiet() const;
    Nanos now() const { return now_; }

  private:
    struct Host {
        std::unique_ptr<Endpoint> endpoint;
        sw::Switch* at;
        sw::PortId port;
        std::uint64_t nic_rate_bps;
        Nanos nic_free_at = 0;
        bool alive = true;
        std::vector<std::uint8_t> frame;  // being put together
        collectives::Executor executor{endpoint->config().rank, endpoint->config().epoch};
    };

    void send(Host& host);
    void deliver();
    void collect();
    std::size_t running() const;
    Nanos next_event() const;

    sw::Fabric& fabric_;
    std::vector<Host> hosts_;
    Nanos now_ = 0;
};

}  // namespace csaud::sim
