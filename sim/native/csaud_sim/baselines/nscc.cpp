#include "csaud_sim/baselines/nscc.hpp"

#include <algorithm>
#include <stdexcept>

namespace csaud::sim::baselines {

namespace {

constexpr Nanos kUndelayed = 1000;  // what counts as an empty path
constexpr double kMostDecrease = 0.5;
constexpr int kPacketsToSettle = 8;

double bytes_in(Nanos time, std::uint64_t bps) {
    return static_cast<double>(time) * static_cast<double>(bps) / 8e9;
}

}  // namespace

void NsccConfig::check() const {
    if (rate_bps == 0 || base_rtt <= 0 || reference_rtt <= 0 || reference_bps == 0)
        throw std::invalid_argument("NSCC: rates and round trips lie above 0");
    if (mtu <= header) throw std::invalid_argument("NSCC: a packet is longer than its header");
    if (quick_gate > 16) throw std::invalid_argument("NSCC: quick_gate lies between 0 and 16");
}

Nscc::Nscc(const NsccConfig& config)
    : config_(config),
      target_(config.target_delay > 0 ? config.target_delay : config.base_rtt * 3 / 4),
      base_rtt_(config.base_rtt) {
    config.check();
    const double payload = config.mtu - config.header;
    const double scale =
        bytes_in(config.base_rtt, config.rate_bps) / bytes_in(config.reference_rtt, config.reference_bps);
    alpha_ = 4 * payload * scale / static_cast<double>(config.reference_rtt);
    fair_ = config.fair_packets * payload * scale;
    eta_ = config.eta_packets * payload * scale;
    fast_ = config.fast_scale * scale;
    largest_ = static_cast<std::int64_t>(config.largest_bdp * bytes_in(base_rtt_, config.rate_bps));
    window_ = largest_;
}

void Nscc::bound() {
    window_ = std::max<std::int64_t>(config_.mtu, std::min(window_, largest_));
}

void Nscc::sampled(Nanos rtt) {
    if (rtt >= base_rtt_) return;
    base_rtt_ = rtt;
    largest_ = static_cast<std::int64_t>(config_.largest_bdp * bytes_in(rtt, config_.rate_bps));
}

// Late packets without a mark count as short delays: the queue that they met is over.
void Nscc::average(Nanos delay, bool marked) {
    const double sample =
        !marked && delay > target_ ? 0.25 * static_cast<double>(base_rtt_) : static_cast<double>(delay);
    average_delay_ += config_.delay_gain * (sample - average_delay_);
}

void Nscc::on_ack(const Ack& ack, Nanos now) {
    arrived_ += ack.bytes;
    since_settled_ += ack.bytes;
    ignored_ += ack.bytes;
    Nanos delay = average_delay();
    if (ack.rtt) {
        sampled(*ack.rtt);
        delay = *ack.rtt - base_rtt_;
        average(delay, ack.marked);
    }
    if (quick_adapt(false, ack.marked, delay, ack.in_flight, now)) return;
    if (!ack.marked && delay >= target_)
        growth_ += fair_ * static_cast<double>(ack.bytes);
    else if (!ack.marked)
        grow(ack.bytes, delay);
    else if (delay >= target_)
        shrink(now);  // marked and not late: another path is enough
    bound();
    if (since_settled_ > std::int64_t{kPacketsToSettle} * config_.mtu || now - settled_at_ > config_.base_rtt)
        settle(now);
    bound();
}

void Nscc::on_trimmed(std::int64_t bytes, std::optional<Nanos> rtt, std::int64_t in_flight, Nanos now) {
    ignored_ += bytes;
    if (rtt) sampled(*rtt);
    average(config_.base_rtt, true);
    trims_seen_ = true;
    if (quick_adapt(true, true, 0, in_flight, now)) return;
    window_ -= bytes;
    bound();
}

void Nscc::on_timeout(std::int64_t bytes) {
    window_ = std::max<std::int64_t>(window_ - bytes, config_.mtu);
}

bool Nscc::quick_adapt(bool lost, bool skip, Nanos delay, std::int64_t in_flight, Nanos now) {
    bool done = false;
    if (ignored_ < to_ignore_ && skip) {
        done = true;
    } else if (now > period_end_) {
        const bool bad = trims_seen_ || lost || delay > 4 * target_;
        if (period_end_ != 0 && bad && arrived_ < (largest_ >> config_.quick_gate)) {
            window_ = std::max<std::int64_t>(arrived_, config_.mtu);
            to_ignore_ = in_flight;
            ignored_ = 0;
            trims_seen_ = false;
            done = true;
        }
        arrived_ = 0;
        period_end_ = now + base_rtt_ + target_;
    }
    if (done) {
        growth_ = 0;
        since_settled_ = 0;
    }
    return done;
}

void Nscc::grow(std::int64_t bytes, Nanos delay) {
    if (delay < kUndelayed) {
        undelayed_ += bytes;
        if (undelayed_ > window_ || fast_growth_) {
            window_ += static_cast<std::int64_t>(static_cast<double>(bytes) * fast_);
            fast_growth_ = true;
            return;
        }
    } else {
        undelayed_ = 0;
    }
    fast_growth_ = false;
    growth_ += alpha_ * static_cast<double>(bytes) * static_cast<double>(target_ - delay);
}

void Nscc::shrink(Nanos now) {
    fast_growth_ = false;
    undelayed_ = 0;
    const auto target = static_cast<double>(target_);
    if (average_delay_ <= target || now - shrunk_at_ <= base_rtt_) return;
    const double kept = 1 - config_.gamma * (average_delay_ - target) / average_delay_;
    window_ = static_cast<std::int64_t>(static_cast<double>(window_) * std::max(kept, kMostDecrease));
    window_ = std::max<std::int64_t>(window_, config_.mtu);
    shrunk_at_ = now;
}

void Nscc::settle(Nanos now) {
    window_ += static_cast<std::int64_t>(growth_ / static_cast<double>(window_));
    if (now - settled_at_ >= config_.base_rtt) {
        window_ += static_cast<std::int64_t>(eta_);
        settled_at_ = now;
    }
    growth_ = 0;
    since_settled_ = 0;
}

}  // namespace csaud::sim::baselines
