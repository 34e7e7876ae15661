// A host on a link: the host core with its executor of collectives, a NIC and a clock.
//
// Whatever comes to it, a frame or a time, is its turn: completions are taken, what follows them is posted,
// and packets leave as fast as the NIC sends. It has one timer, for the core's next deadline.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "csaud_host/endpoint/endpoint.hpp"
#include "csaud_sim/hosts/agenda.hpp"
#include "csaud_sim/hosts/alarm.hpp"
#include "csaud_sim/hosts/bursts.hpp"
#include "csaud_sim/hosts/clock.hpp"
#include "csaud_sim/hosts/frames.hpp"
#include "csaud_sim/hosts/ledger.hpp"
#include "csaud_sim/hosts/uplink.hpp"
#include "csaud_sim/network/network.hpp"

namespace csaud::sim {

class Host final : public Actor, public Station, public Party {
  public:
    struct Place {
        Engine& engine;
        Network& network;
        Frames& frames;
        OpenWork& open_work;
        FlowSink& flows;
        Ledger* ledger;  // nothing: none is kept
    };

    Host(const Place& place, const EndpointConfig& config, const Clock& clock, sw::Switch& at,
         sw::PortId port, const Nic& nic);
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    Endpoint& endpoint() { return endpoint_; }
    const Endpoint& endpoint() const { return endpoint_; }
    const collectives::Executor& executor() const { return agenda_.executor(); }

    // As the agenda's.
    void start(collectives::Execution& execution, Nanos at) { agenda_.start(execution, at); }
    void follow(collectives::Execution& execution, Nanos delay);

    // Besides all else, through the same NIC, in turn with it.
    void send(Bursts& bursts);

    // --- Party
    bool alive() const override { return alive_; }
    std::uint16_t epoch() const override { return endpoint_.config().epoch; }
    std::uint64_t longest_message() const override { return endpoint_.max_message_bytes(); }
    Nanos local(Nanos now) const override { return clock_.local(now); }
    collectives::Port& port() override { return port_; }
    void turn(Nanos now) override;

    // Nothing more comes from or goes to it.
    void kill();
    // Nothing is unfinished or queued.
    bool quiet(Nanos now) const { return !alive_ || endpoint_.quiescent(clock_.local(now)); }

    // A packet, from its IPv4 header on, that came by no link.
    void take(std::span<const std::byte> packet, Nanos now);
    void frame(sw::Packet* packet, Nanos now) override;
    void act(std::uint32_t what, Nanos now) override;

  private:
    enum What : std::uint32_t { kTimer, kNicFree, kBursts };
    // Where a core that has something due says so without an own time for it (a paced sender whose window is
    // closed), it is asked again after this.
    static constexpr Nanos kAgain = kMicrosecond;
    static constexpr std::uint32_t kLookEvery = 32;  // frames: at what the endpoint holds, for the ledger

    bool is_roce(FrameBytes frame) const;
    void note_arrival(FrameBytes frame, bool again, Nanos now);
    bool collect(Nanos now, Nanos local);
    void send(Nanos now, Nanos local);
    void arm(Nanos now);
    sw::Packet* next_frame(Nanos now, Nanos local);
    sw::Packet* own_frame(Nanos local);

    Place place_;
    Endpoint endpoint_;
    NotingPort port_;
    Agenda agenda_;
    Clock clock_;
    Uplink uplink_;
    BurstQueue bursts_;
    bool bursts_turn_ = false;
    Alarm timer_;
    Alarm bursts_timer_;
    bool alive_ = true;
    TxPacket packet_;           // being sent
    std::uint32_t frames_ = 0;  // that arrived
};

using Hosts = std::vector<std::unique_ptr<Host>>;

}  // namespace csaud::sim
