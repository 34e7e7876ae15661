// Go-back-N as NICs of RoCE have it (InfiniBand Architecture Specification, reliable connections; HPCC's ns-3
// model): the receiver takes packets in order only and answers the first one behind a hole with a NACK; the
// sender goes on from there. A NACK of the same hole comes again after `nack_every`, if packets still do.
#pragma once

#include "csaud_sim/baselines/send_order.hpp"

namespace csaud::sim::baselines {

class GoBackN final : public SendOrder {
  public:
    // window: packets under way, at most; timeout: without progress, so long; guard: for so long after it
    // went back, NACKs of the same hole are of packets that it sent before, and mean nothing.
    GoBackN(std::uint32_t window, Nanos timeout, Nanos guard)
        : window_(window), timeout_(timeout), guard_(guard) {}

    void extend(std::uint32_t end) override { end_ = end; }
    bool ready() const override { return next_ < end_ && next_ - acked_ < window_; }
    Next take(Nanos now) override;
    void answered(const Answer& answer, Nanos now) override;
    bool timer(Nanos now) override;
    Nanos deadline() const override { return deadline_; }
    std::uint32_t acked() const override { return acked_; }

  private:
    std::uint32_t window_;
    Nanos timeout_, guard_;
    std::uint32_t acked_ = 0, next_ = 0, end_ = 0;
    std::uint32_t sent_ = 0;  // all below went at least once
    Nanos deadline_ = kNever;
    Nanos deaf_until_ = 0;
    Cause cause_ = Cause::first;  // of the latest way back
};

class InOrder final : public ReceiveOrder {
  public:
    explicit InOrder(Nanos nack_every) : nack_every_(nack_every) {}

    Reply data(std::uint32_t psn, Nanos now) override;
    std::uint32_t expected() const override { return expected_; }

  private:
    Nanos nack_every_;
    std::uint32_t expected_ = 0;
    std::uint32_t nacked_ = UINT32_MAX;  // the latest hole that was told of
    Nanos again_at_ = 0;                 // when it may be told of again
};

}  // namespace csaud::sim::baselines
