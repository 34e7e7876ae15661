// Collectives on the virtual network: each rank has an executor, as in a real job, and what every message
// took is kept.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "collectives/executor.hpp"
#include "virtual_network.hpp"

namespace csaud::testing {

// A message that was received: when its sender posted it, and when its last packet came.
struct Arrival {
    std::uint16_t comm = 0;
    Nanos posted = 0;
    Nanos arrived = 0;
};

class VirtualJob {
  public:
    VirtualJob(std::uint16_t world, const EndpointConfig& base, const LinkModel& link, const Chance& chance);
    VirtualJob(const VirtualJob&) = delete;
    VirtualJob& operator=(const VirtualJob&) = delete;

    VirtualNetwork& network() noexcept { return network_; }

    // Starts a collective of a rank; it must live until it has settled, or as long as this object.
    void start(std::uint16_t rank, collectives::Execution&);
    // Runs until everything that ranks wait for has come; false: `until` came first.
    bool run(Nanos until);

    // Since the last call, in the order in which they were complete.
    std::vector<Arrival> take_arrivals() { return std::exchange(arrivals_, {}); }
    std::uint64_t sends() const noexcept { return sends_; }
    // Whose senders did not learn yet that they arrived.
    std::uint64_t sends_open() const noexcept { return sends_open_; }

  private:
    class Port;
    using Key = std::tuple<std::uint16_t, std::uint16_t, std::uint16_t, std::uint32_t, std::uint16_t,
                           std::uint16_t>;  // source, destination, and the rest of the name

    static Key key_of(const MessageName&, std::uint16_t dst);
    void completed(std::uint16_t rank, const Completion&);

    VirtualNetwork network_;
    std::vector<std::unique_ptr<collectives::Executor>> executors_;  // by rank
    std::map<Key, Nanos> posted_;                                    // sends that have not arrived
    std::vector<Arrival> arrivals_;
    std::uint64_t sends_ = 0;
    std::uint64_t sends_open_ = 0;
    std::uint64_t awaited_ = 0;  // receives
};

}  // namespace csaud::testing
