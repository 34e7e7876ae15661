// One direction of a link: packets fly along it and arrive in the order in which they were sent, so that only
// the first of them needs an event. On a link with jitter they overtake each other, and each has its own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "csaud_sim/engine/engine.hpp"
#include "csaud_sim/network/impairment.hpp"
#include "csaud_sim/network/link_figures.hpp"
#include "csaud_sim/network/link_model.hpp"
#include "csaud_sim/network/station.hpp"
#include "csaud_sim/network/trace.hpp"
#include "csaud_sim/network/watch.hpp"
#include "csaud_switch/fabric/switch.hpp"

namespace csaud::sim {

// What all channels of a network share.
struct Surroundings {
    Engine& engine;
    sw::PacketPool& pool;
    LinkModel model;
    Trace* trace = nullptr;
    Watch* watch = nullptr;
    std::uint64_t hops = 0;       // packets that switches received
    std::uint64_t data_lost = 0;  // DATA that links lost, impaired or down
};

// What a port sent.
class alignas(64) Channel final : public Actor {
  public:
    // From a port of a switch, to whatever is at its other end.
    Channel(Surroundings& around, std::uint32_t number, sw::Switch& from, sw::Port& port)
        : around_(around), number_(number), port_(port), from_(&from) {
        if (port.peer != nullptr) lead_to(*port.peer_switch, *port.peer);
    }
    // From a station to a switch's port.
    Channel(Surroundings& around, std::uint32_t number, sw::Switch& to, sw::Port& port, std::nullptr_t)
        : around_(around), number_(number), port_(port) {
        lead_to(to, port);
    }
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    // Links may be impaired in several ways. Before anything is on this one.
    void impair(const Impairment& how);
    void attach(Station& station) { station_ = &station; }
    bool attached() const { return station_ != nullptr; }

    // A packet whose last bit is sent at `end`. Takes it over.
    void carry(sw::Packet* packet, Nanos end);
    // The port sends it, with its last bit at `end`: for the figures.
    void count(const sw::Packet& packet, Nanos end);
    const LinkFigures& figures() const { return figures_; }
    // The switch's port may send again at this time.
    void wake(Nanos at) { around_.engine.at(at, *this, kWake); }
    void act(std::uint32_t what, Nanos now) override;
    // What is under way goes back to the pool.
    void drain();

    sw::Switch* from() const { return from_; }
    sw::Port& port() const { return port_; }
    // At its other end; nobody: a station.
    const sw::Switch* to() const { return to_; }

  private:
    enum What : std::uint32_t { kArrive, kWake };
    // Under way on a link with jitter.
    struct Scattered {
        sw::Packet* packet;
        std::uint64_t order;
        bool operator>(const Scattered& other) const {
            const Nanos mine = packet->enqueued_at, theirs = other.packet->enqueued_at;
            return mine != theirs ? mine > theirs : order > other.order;
        }
    };

    void lead_to(sw::Switch& to, sw::Port& port) {
        to_ = &to;
        to_port_ = &port;
    }
    void scatter(sw::Packet* packet, Nanos there);
    sw::Packet* next();
    void arrive(Nanos now);
    bool spoils(const sw::Packet& packet);
    void spoil(sw::Packet* packet, Nanos now);
    void lose(sw::Packet* packet, Nanos now);
    void note(TraceKind kind, const sw::Packet& packet, Nanos time) const {
        if (around_.trace != nullptr) around_.trace->add({time, number_, packet.length, kind});
    }

    // What every packet needs comes first.
    Surroundings& around_;
    std::uint32_t number_;
    bool jitter_ = false;
    sw::Port& port_;            // of the switch that sends, or else of the one that receives
    sw::Switch* to_ = nullptr;  // nobody: a station receives
    sw::Port* to_port_ = nullptr;
    Station* station_ = nullptr;
    sw::PacketQueue flying_;  // enqueued_at: when they arrive
    Nanos last_ = 0;          // arrival
    std::vector<ImpairedLink> impaired_;
    sw::Switch* from_ = nullptr;  // nobody: a station sends
    LinkFigures figures_;
    std::vector<Scattered> scattered_;  // a heap: the next to arrive is the first
    std::uint64_t order_ = 0;
};

}  // namespace csaud::sim
