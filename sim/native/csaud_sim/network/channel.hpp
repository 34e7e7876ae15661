// One direction of a link: packets fly along it and arrive in the order in which they were sent, so that only
// the first of them needs an event.
#pragma once

#include <cstdint>

#include "csaud_sim/engine/engine.hpp"
#include "csaud_sim/network/link_model.hpp"
#include "csaud_sim/network/station.hpp"
#include "csaud_sim/network/trace.hpp"
#include "csaud_sim/network/workspaces.hpp"
#include "csaud_switch/fabric/switch.hpp"

namespace csaud::sim {

// What all channels of a network share.
struct Surroundings {
    Engine& engine;
    sw::PacketPool& pool;
    LinkModel model;
    Workspaces workspaces{};
    Trace* trace = nullptr;
    std::uint64_t hops = 0;  // packets that switches received
};

class Channel final : public Actor {
  public:
    // From a port of a switch, to whatever is at its other end.
    Channel(Surroundings& around, std::uint32_t number, sw::Switch& from, sw::Port& port)
        : around_(around), number_(number), from_(&from), port_(port) {
        if (port.peer != nullptr) lead_to(*port.peer_switch, *port.peer);
    }
    // From a station to a switch's port.
    Channel(Surroundings& around, std::uint32_t number, sw::Switch& to, sw::Port& port, std::nullptr_t)
        : around_(around), number_(number), port_(port) {
        lead_to(to, port);
    }
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    void attach(Station& station) { station_ = &station; }
    bool attached() const { return station_ != nullptr; }

    // A packet whose last bit is sent at `end`. Takes it over.
    void carry(sw::Packet* packet, Nanos end);
    // The switch's port may send again at this time.
    void wake(Nanos at) { around_.engine.at(at, *this, kWake); }
    void act(std::uint32_t what, Nanos now) override;
    // What is under way goes back to the pool.
    void drain();

    sw::Switch* from() const { return from_; }
    sw::Port& port() const { return port_; }

  private:
    enum What : std::uint32_t { kArrive, kWake };

    void lead_to(sw::Switch& to, sw::Port& port) {
        to_ = &to;
        to_port_ = &port;
    }
    void arrive(Nanos now);
    void lose(sw::Packet* packet, Nanos now);
    void note(TraceKind kind, const sw::Packet& packet, Nanos time) const {
        if (around_.trace != nullptr) around_.trace->add({time, number_, packet.length, kind});
    }

    Surroundings& around_;
    std::uint32_t number_;
    sw::Switch* from_ = nullptr;  // nobody: a station sends
    sw::Port& port_;              // of the switch that sends, or else of the one that receives
    sw::Switch* to_ = nullptr;    // nobody: a station receives
    sw::Port* to_port_ = nullptr;
    Station* station_ = nullptr;
    sw::PacketQueue flying_;  // enqueued_at: when they arrive
    Nanos last_ = 0;          // arrival
};

}  // namespace csaud::sim
