// A host without an endpoint: it sends bursts, and what comes to it goes nowhere.
#pragma once

#include <algorithm>

#include "csaud_sim/hosts/alarm.hpp"
#include "csaud_sim/hosts/bursts.hpp"
#include "csaud_sim/hosts/uplink.hpp"

namespace csaud::sim {

class Bystander final : public Actor, public Station {
  public:
    Bystander(Engine& engine, Network& network, sw::Switch& at, sw::PortId port, const Nic& nic)
        : engine_(engine),
          network_(network),
          uplink_(network, network.attach(*this, at, port, nic.delay), nic.rate_bps),
          timer_(engine, *this, 0) {}

    void send(Bursts& bursts) {
        bursts_.add(bursts);
        turn(engine_.now());
    }
    void frame(sw::Packet* packet, Nanos) override { network_.give(packet); }
    void act(std::uint32_t, Nanos now) override {
        timer_.rang();
        turn(now);
    }

  private:
    void turn(Nanos now) {
        while (uplink_.free(now)) {
            sw::Packet* frame = bursts_.next(network_, now);
            if (frame == nullptr) break;
            uplink_.send(frame, now);
        }
        if (const Nanos due = bursts_.due(); due != Bursts::kNever)
            timer_.set(std::max({due, uplink_.free_at(), now + 1}));
    }

    Engine& engine_;
    Network& network_;
    Uplink uplink_;
    BurstQueue bursts_;
    Alarm timer_;
};

}  // namespace csaud::sim
