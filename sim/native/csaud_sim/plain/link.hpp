// One direction of a link: packets arrive in the order in which they were sent, so that only the first of
// them needs an event.
#pragma once

#include <cstdint>

#include "csaud_sim/network/link_model.hpp"
#include "csaud_sim/network/trace.hpp"
#include "csaud_sim/plain/node.hpp"

namespace csaud::sim::plain {

// What all parts of a network share.
struct Surroundings {
    Engine& engine;
    LinkModel model;
    Pool pool{};
    Trace* trace = nullptr;
    std::uint64_t hops = 0;       // packets that switches received
    std::uint64_t data_lost = 0;  // DATA on links that were down
};

struct LinkEnd {
    Node* node = nullptr;
    std::uint16_t port = 0;
};

class Link final : public Actor {
  public:
    // after: what passes between the last bit and the arrival beside the delay, a switch's pipeline.
    Link(Surroundings& around, std::uint32_t number, LinkEnd to, std::uint64_t rate_bps, Nanos delay,
         Nanos after)
        : around_(around), number_(number), to_(to), rate_bps_(rate_bps), delay_(delay), after_(after) {}
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    std::uint64_t rate_bps() const { return rate_bps_; }
    void set_rate(std::uint64_t rate_bps) { rate_bps_ = rate_bps; }
    Nanos sending_time(std::uint32_t bytes) const { return around_.model.sending_time(bytes, rate_bps_); }
    bool up() const { return up_; }
    // Down: what is on it is lost, and so is all that is sent until it is up again.
    void set_up(bool up);
    // A packet whose last bit is sent at `end`. Takes it over.
    void carry(Packet* packet, Nanos end);
    // A frame of 64 bytes that begins at `begin` says so to the other end.
    void tell_paused(bool paused, Nanos begin) {
        around_.engine.at(begin + sending_time(kPauseBytes) + delay_, *this, paused ? kPause : kResume);
    }
    Nanos delay() const { return delay_; }

    void act(std::uint32_t what, Nanos now) override;

  private:
    enum What : std::uint32_t { kArrive, kPause, kResume };
    static constexpr std::uint32_t kPauseBytes = 60;  // without FCS

    void lose(Packet* packet, Nanos time);
    void note(TraceKind kind, const Packet& packet, Nanos time) const {
        if (around_.trace != nullptr) around_.trace->add({time, number_, packet.bytes, kind});
    }

    Surroundings& around_;
    std::uint32_t number_;
    LinkEnd to_;
    std::uint64_t rate_bps_;
    Nanos delay_, after_;
    Queue flying_;
    bool up_ = true;
    std::uint32_t doomed_ = 0;  // of those that fly, the first: the link has been down since
};

}  // namespace csaud::sim::plain
