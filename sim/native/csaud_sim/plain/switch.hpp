// An output-queued switch without a program: it routes, chooses a path, loses, marks, cuts, queues by
// priority, and pauses. Without spraying and signals it does with packets what the P4 program does
// (tests/sim/test_plain_switch.py).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "csaud_sim/plain/port.hpp"
#include "csaud_sim/plain/routes.hpp"

namespace csaud::sim::plain {

class Switch final : public Actor, public Node {
  public:
    Switch(Surroundings& around, const SwitchModel& model, const Attachments& hosts, std::uint32_t number,
           std::uint32_t seed)
        : around_(around), model_(model), hosts_(hosts), number_(number), seed_(seed) {}
    Switch(const Switch&) = delete;
    Switch& operator=(const Switch&) = delete;

    // Ports are numbered as they come, from 0.
    Port& add_port();
    // Of the buffer, room that a port has for what comes after a pause was told.
    void reserve(std::uint64_t bytes) { headroom_ += bytes; }
    std::uint64_t headroom() const { return headroom_; }
    Port& port(std::uint16_t id) { return *ports_.at(id); }
    std::size_t ports() const { return ports_.size(); }
    Routes& routes() { return routes_; }
    const SwitchFigures& figures() const { return figures_; }

    void arrive(Packet* packet, std::uint16_t port, Nanos now) override;
    void paused(std::uint16_t port, bool paused, Nanos now) override;
    // What it sends by the port gets lost, or no more; routes stay as they are, but with `failover` another
    // port of the same route is taken while this one is down. A port that is down has not
    // been told to pause, and tells so again what it wants when it is up.
    void set_up(std::uint16_t port, bool up, Nanos now);
    // A port may send again.
    void act(std::uint32_t port, Nanos now) override;

  private:
    struct Flowlet {
        Nanos last = -1;
        std::uint32_t choice = 0;
    };
    static constexpr std::uint32_t kFlowlets = 1U << 16;

    // The port of a packet; nothing: there is none.
    Port* route(const Packet& packet, Nanos now);
    std::uint32_t choose(const Packet& packet, Nanos now);
    // In place of a port that is down; nothing: all are.
    Port* another(std::span<const std::uint16_t> choices, std::uint32_t value) const;
    // False: it was lost, and is no more.
    bool admit(Packet*& packet, Port& port);
    bool has_room(const Packet& packet, const Port& port) const;
    void mark(Packet& packet, Port& port);
    void serve(Port& port, Nanos now);
    void hold(const Packet& packet, Nanos now);
    void release(const Packet& packet, Nanos now);
    void pause(Port& port, bool paused, Nanos now);
    std::uint64_t pause_threshold() const;

    Surroundings& around_;
    const SwitchModel& model_;
    const Attachments& hosts_;
    std::uint32_t number_;
    std::uint32_t seed_;
    std::uint32_t sprayed_ = 0;  // choices made at random so far
    std::uint64_t headroom_ = 0;
    std::uint64_t held_ = 0;  // bytes of DATA
    Routes routes_;
    std::vector<std::unique_ptr<Port>> ports_;
    std::vector<Flowlet> flowlets_;
    SwitchFigures figures_;
};

}  // namespace csaud::sim::plain
