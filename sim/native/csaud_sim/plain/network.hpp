// Plain switches and the links between them and to hosts.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "csaud_sim/plain/switch.hpp"

namespace csaud::sim::plain {

struct Wire {
    std::uint64_t rate_bps = 0;  // of each direction, 0: unlimited
    Nanos delay = 0;             // propagation
};

// Bytes that still come by a link after a pause was told.
std::uint64_t headroom(const Wire& wire, Nanos pipeline);

class Network {
  public:
    Network(Engine& engine, const LinkModel& links, const SwitchModel& model)
        : around_{engine, links}, model_(model) {}
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    // Returns its number. seed: of all that it draws at random.
    std::uint32_t add_switch(std::uint32_t seed);
    Switch& switch_at(std::uint32_t number) { return *switches_.at(number); }
    std::size_t switches() const { return switches_.size(); }
    // Returns the ports at both ends. With flow control, std::invalid_argument where headroom takes all of a
    // switch's buffer.
    std::pair<std::uint16_t, std::uint16_t> add_link(std::uint32_t a, std::uint32_t b, const Wire& wire);
    // The next host, at a new port of a switch, which is returned with the link of what the host sends.
    struct Attached {
        Link& up;
        std::uint16_t port;
    };
    Attached attach(Node& host, std::uint32_t at, const Wire& wire);

    Packet* packet() { return around_.pool.take(); }
    void give(Packet* packet) { around_.pool.give(packet); }
    bool empty() const { return around_.pool.outstanding() == 0; }
    std::uint64_t hops() const { return around_.hops; }
    std::uint64_t data_lost() const { return around_.data_lost; }
    const LinkModel& links() const { return around_.model; }
    const SwitchModel& model() const { return model_; }
    void trace(Trace* into) { around_.trace = into; }

  private:
    Link& lead(LinkEnd to, const Wire& wire, bool to_switch);
    void reserve(Switch& at, const Wire& wire);

    Surroundings around_;
    SwitchModel model_;
    Attachments hosts_;
    std::vector<std::unique_ptr<Switch>> switches_;
    std::vector<std::unique_ptr<Link>> links_;
};

}  // namespace csaud::sim::plain
