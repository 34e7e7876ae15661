// Selective repeat as IRN has it (Mittal et al., SIGCOMM 2018, section 3): the receiver keeps what comes out
// of order and answers it with a NACK that has its cumulative acknowledgement and the packet that brought it;
// the sender keeps a bitmap of those, sends again what is missing below the greatest of them, once a
// recovery, and has at most a BDP under way. Two timeouts: a short one where few packets are under way, of
// which no NACK may come.
#pragma once

#include <deque>

#include "csaud_sim/baselines/send_order.hpp"

namespace csaud::sim::baselines {

struct IrnTimeouts {
    Nanos low = 0, high = 0;
    std::uint32_t few = 0;  // packets under way, below which `low` holds
};

class SelectiveRepeat final : public SendOrder {
  public:
    // window: packets under way, at most (BDP-FC).
    SelectiveRepeat(std::uint32_t window, const IrnTimeouts& timeouts)
        : window_(window), timeouts_(timeouts) {}

    void extend(std::uint32_t end) override { end_ = end; }
    bool ready() const override { return hole() < limit() || (next_ < end_ && next_ - acked_ < window_); }
    Next take(Nanos now) override;
    void answered(const Answer& answer, Nanos now) override;
    bool timer(Nanos now) override;
    Nanos deadline() const override { return deadline_; }
    std::uint32_t acked() const override { return acked_; }

  private:
    bool arrived(std::uint32_t psn) const { return psn - acked_ < sacked_.size() && sacked_[psn - acked_]; }
    // The next packet to send again, if below limit().
    std::uint32_t hole() const;
    std::uint32_t limit() const { return recovering_ ? lost_below_ : 0; }
    void enter(Cause cause);
    Nanos due() const;

    std::uint32_t window_;
    IrnTimeouts timeouts_;
    std::uint32_t acked_ = 0, next_ = 0, end_ = 0;
    std::deque<bool> sacked_;  // from acked_ on
    bool recovering_ = false;
    std::uint32_t recovery_ends_ = 0;  // once all below has arrived
    std::uint32_t again_ = 0;          // from here on holes have not gone again in this recovery
    std::uint32_t lost_below_ = 0;     // what is missing below is taken for lost
    Nanos progress_ = 0;               // the latest, or when the first packet went
    Nanos deadline_ = kNever;
    Cause cause_ = Cause::gap;
};

class OutOfOrder final : public ReceiveOrder {
  public:
    Reply data(std::uint32_t psn, Nanos now) override;
    std::uint32_t expected() const override { return expected_; }

  private:
    std::uint32_t expected_ = 0;
    std::deque<bool> came_;  // from expected_ on
};

}  // namespace csaud::sim::baselines
