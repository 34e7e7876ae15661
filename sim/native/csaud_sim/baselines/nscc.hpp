// The congestion window of Ultra Ethernet's network signal based congestion control (NSCC), by the behaviour
// of ultraethernet/uet-htsim: delay above the idle round trip and congestion marks together decide what an
// acknowledgement does, and after trims the window becomes what arrived within a round trip.
//
// Without I/O. Bytes are those of packets with their headers.
#pragma once

#include <cstdint>
#include <optional>

#include "csaud_sim/engine/engine.hpp"

namespace csaud::sim::baselines {

struct NsccConfig {
    std::uint64_t rate_bps = 100'000'000'000;
    std::uint32_t mtu = 4150;      // of a full packet, with headers
    std::uint32_t header = 64;     // of those
    Nanos base_rtt = 14'022;       // idle, over the longest path
    Nanos target_delay = 0;        // of queues; 0: three quarters of base_rtt, as for trimming fabrics
    Nanos reference_rtt = 12'000;  // that the constants are given for, at
    std::uint64_t reference_bps = 100'000'000'000;
    double gamma = 0.8;          // of a decrease
    double fair_packets = 5;     // what a window of unmarked, late packets adds
    double eta_packets = 0.15;   // added in each base_rtt
    double fast_scale = 0.25;    // added of each byte where queues are empty
    double delay_gain = 0.0125;  // of the average
    unsigned quick_gate = 3;     // quick adapt: less than the largest window / 2^this has arrived
    double largest_bdp = 1.5;    // largest window

    // std::invalid_argument
    void check() const;
};

class Nscc {
  public:
    explicit Nscc(const NsccConfig& config);

    struct Ack {
        std::int64_t bytes = 0;      // that the receiver got since the last one
        std::optional<Nanos> rtt{};  // of the packet that brought it about, where that is sure
        bool marked = false;
        std::int64_t in_flight = 0;  // these bytes are no longer
    };
    void on_ack(const Ack& ack, Nanos now);
    // A packet that was trimmed; in_flight: it still is. rtt: until its sender knew.
    void on_trimmed(std::int64_t bytes, std::optional<Nanos> rtt, std::int64_t in_flight, Nanos now);
    void on_timeout(std::int64_t bytes);

    std::int64_t window() const { return window_; }
    Nanos base_rtt() const { return base_rtt_; }
    Nanos average_delay() const { return static_cast<Nanos>(average_delay_); }
    std::int64_t largest_window() const { return largest_; }

  private:
    bool quick_adapt(bool lost, bool skip, Nanos delay, std::int64_t in_flight, Nanos now);
    void sampled(Nanos rtt);
    void average(Nanos delay, bool marked);
    void grow(std::int64_t bytes, Nanos delay);
    void shrink(Nanos now);
    void settle(Nanos now);
    void bound();

    NsccConfig config_;
    Nanos target_;
    double alpha_, fair_, eta_, fast_;
    Nanos base_rtt_;
    std::int64_t largest_ = 0, window_ = 0;
    double average_delay_ = 0;

    // What acknowledgements add is kept back and taken over now and then (settle).
    double growth_ = 0;               // byte^2
    std::int64_t since_settled_ = 0;  // bytes
    Nanos settled_at_ = 0;
    Nanos shrunk_at_ = 0;
    std::int64_t undelayed_ = 0;  // bytes in a row
    bool fast_growth_ = false;

    // Quick adapt: what arrived in the present period; after a cut, what was in flight then says nothing.
    std::int64_t arrived_ = 0;
    Nanos period_end_ = 0;
    bool trims_seen_ = false;
    std::int64_t to_ignore_ = 0, ignored_ = 0;
};

}  // namespace csaud::sim::baselines
