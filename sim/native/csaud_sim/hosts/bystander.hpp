// A host without an endpoint: it sends bursts, and what comes to it goes nowhere.
#pragma once

#include <algorithm>

#include "csaud_sim/hosts/bursts.hpp"
#include "csaud_sim/hosts/uplink.hpp"

namespace csaud::sim {

class Bystander final : public Actor, public Station {
  public:
    Bystander(Engine& engine, Network& network, sw::Switch& at, sw::PortId port, const Nic& nic)
        : engine_(engine),
          network_(network),
          uplink_(network, network.attach(*this, at, port, nic.delay), nic.rate_bps) {}

    void send(Bursts& bursts) {
        bursts_.add(bursts);
        act(0, engine_.now());
    }
    void frame(sw::Packet* packet, Nanos) override { network_.give(packet); }
    void act(std::uint32_t, Nanos now) override {
        while (uplink_.free(now)) {
            sw::Packet* frame = bursts_.next(network_, now);
            if (frame == nullptr) break;
            uplink_.send(frame, now);
        }
        const Nanos due = bursts_.due();
        if (due == Bursts::kNever || armed_ > now) return;
        armed_ = std::max({due, uplink_.free_at(), now + 1});
        engine_.at(armed_, *this, 0);
    }

  private:
    Engine& engine_;
    Network& network_;
    Uplink uplink_;
    BurstQueue bursts_;
    Nanos armed_ = -1;
};

}  // namespace csaud::sim
