// Plain UDP that is nobody's job: bursts of packets at a pace, until it is stopped. A NIC that is busy holds
// it up, and what was due meanwhile follows.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "csaud_sim/network/network.hpp"

namespace csaud::sim {

struct BurstPlan {
    std::uint32_t src_ipv4 = 0, dst_ipv4 = 0;
    std::uint16_t port = 0;     // UDP, both
    std::uint16_t payload = 0;  // bytes
    std::uint32_t burst = 1;    // packets
    double interval = 0;        // ns between two packets of a burst
    double every = 0;           // ns between the begins of two bursts
};

class Bursts {
  public:
    // std::invalid_argument where the plan cannot be.
    Bursts(const BurstPlan& plan, Nanos start);

    static constexpr Nanos kNever = std::numeric_limits<Nanos>::max();
    // When the next packet may leave; kNever once it is stopped.
    Nanos due() const;
    std::uint32_t frame_bytes() const;
    // The next packet, into a frame of so many bytes.
    void write(sw::Packet& frame);
    void stop() { stopped_ = true; }
    std::uint64_t sent() const { return sent_; }

  private:
    BurstPlan plan_;
    Nanos start_;
    std::uint64_t sent_ = 0;
    bool stopped_ = false;
};

// All that one host sends, in turn.
class BurstQueue {
  public:
    // It lives as long as this object.
    void add(Bursts& bursts) { bursts_.push_back(&bursts); }
    Nanos due() const;
    // A frame that is due, nothing where there is none.
    sw::Packet* next(Network& network, Nanos now);

  private:
    std::vector<Bursts*> bursts_;
    std::size_t turn_ = 0;
};

}  // namespace csaud::sim
