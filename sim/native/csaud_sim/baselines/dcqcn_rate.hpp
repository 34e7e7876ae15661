// The rate of DCQCN's reaction point (Zhu et al., SIGCOMM 2015) as HPCC's ns-3 model of a NIC has it: cut by
// alpha / 2 when a mark is told of, at most once a `decrease_every`; raised each `increase_every` since the
// latest cut, first half the way back to where it was, then beyond it. There is no byte counter.
//
// Without timers: what would have happened meanwhile is done when something is asked or told.
#pragma once

#include <memory>
#include <utility>

#include "csaud_sim/baselines/rate_control.hpp"

namespace csaud::sim::baselines {

struct DcqcnModel {
    double line = 0;   // bit/s, as all rates: of the NIC, and what a connection begins with
    double least = 0;  // it is never cut below
    double gain = 0;   // g: of a period's marks, in alpha
    Nanos alpha_every = 0;
    Nanos decrease_every = 0;
    Nanos increase_every = 0;
    std::uint32_t fast_recoveries = 0;  // steps half the way back after a cut
    double additive = 0, hyper = 0;     // one step of that kind after them, then these
};

class DcqcnRate final : public RateControl {
  public:
    explicit DcqcnRate(std::shared_ptr<const DcqcnModel> shared)
        : shared_(std::move(shared)), model_(*shared_), rate_(model_.line), target_(model_.line) {}

    Nanos next() const override { return free_at_; }
    void sent(std::uint64_t bytes, Nanos now) override;
    void marked(Nanos now) override;

    double rate() const { return rate_; }

  private:
    void advance(Nanos now);
    void learn_alpha(Nanos now);
    void cut(Nanos now);
    void raise();

    std::shared_ptr<const DcqcnModel> shared_;  // by all of a host
    const DcqcnModel& model_;
    double rate_, target_;
    double alpha_ = 1;
    bool ever_ = false;   // marked
    bool told_ = false;   // of a mark since alpha was last learned
    bool due_ = false;    // a cut is, at cut_at_
    Nanos alpha_at_ = 0;  // when it is learned next
    Nanos cut_at_ = 0;    // not before
    Nanos raise_at_ = kNever;
    std::uint32_t stage_ = 0;
    Nanos free_at_ = 0;
};

}  // namespace csaud::sim::baselines
