// A host on a link: the host core with its executor of collectives, a NIC and a clock.
//
// Whatever comes to it, a frame or a time, is its turn: completions are taken, what follows them is posted,
// and packets leave as fast as the NIC sends. It has one timer, for the core's next deadline.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "collectives/executor.hpp"
#include "csaud_host/endpoint/endpoint.hpp"
#include "csaud_sim/hosts/bursts.hpp"
#include "csaud_sim/hosts/clock.hpp"
#include "csaud_sim/hosts/frames.hpp"
#include "csaud_sim/hosts/ledger.hpp"
#include "csaud_sim/hosts/open_work.hpp"
#include "csaud_sim/hosts/uplink.hpp"
#include "csaud_sim/network/network.hpp"

namespace csaud::sim {

// Messages of this communicator are flows, and no collective's.
inline constexpr std::uint16_t kFlowComm = 0xFFFF;

// Who is told of completions of flows.
class FlowSink {
  public:
    virtual void completed(const Completion& completion, Nanos now) = 0;

  protected:
    ~FlowSink() = default;
};

class Host final : public Actor, public Station {
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
    const collectives::Executor& executor() const { return executor_; }
    const Clock& clock() const { return clock_; }
    bool alive() const { return alive_; }

    // Executions must live until they have settled, or as long as this object. At a time, now or later:
    void start(collectives::Execution& execution, Nanos at);
    // So long after all that were given before are over.
    void follow(collectives::Execution& execution, Nanos delay);

    // Besides all else, through the same NIC, in turn with it.
    void send(Bursts& bursts);

    // To be called after something was posted.
    void turn(Nanos now);
    // Nothing more comes from or goes to it.
    void kill();
    // Nothing is unfinished or queued.
    bool quiet(Nanos now) const { return !alive_ || endpoint_.quiescent(clock_.local(now)); }

    // A packet, from its IPv4 header on, that came by no link.
    void take(std::span<const std::byte> packet, Nanos now);
    void frame(sw::Packet* packet, Nanos now) override;
    void act(std::uint32_t what, Nanos now) override;

  private:
    enum What : std::uint32_t { kTimer, kNicFree, kStart, kFollow, kBursts };
    struct Follower {
        collectives::Execution* execution;
        Nanos delay;
    };
    // Where a core that has something due says so without an own time for it (a paced sender whose window is
    // closed), it is asked again after this.
    static constexpr Nanos kAgain = kMicrosecond;
    static constexpr std::uint32_t kLookEvery = 32;  // frames: at what the endpoint holds, for the ledger

    void start_due(Nanos now);
    void start_now(collectives::Execution& execution, Nanos now);
    bool is_roce(FrameBytes frame) const;
    void note_arrival(FrameBytes frame, bool again, Nanos now);
    bool collect(Nanos now, Nanos local);
    void send(Nanos now, Nanos local);
    void arm(Nanos now);
    void report();
    sw::Packet* next_frame(Nanos now, Nanos local);
    sw::Packet* own_frame(Nanos local);

    Place place_;
    Endpoint endpoint_;
    NotingPort port_;
    collectives::Executor executor_;
    Clock clock_;
    Uplink uplink_;
    BurstQueue bursts_;
    bool bursts_turn_ = false;
    Nanos bursts_armed_ = -1;
    Nanos armed_for_ = kNever;  // the timer
    EventId timer_ = kNoEvent;
    bool alive_ = true;
    bool failed_ = false;
    TxPacket packet_;           // being sent
    std::uint32_t frames_ = 0;  // that arrived

    std::multimap<Nanos, collectives::Execution*> starts_;
    std::deque<Follower> followers_;
    bool follower_armed_ = false;
    std::size_t reported_ = 0;  // executions that are not over
};

}  // namespace csaud::sim
