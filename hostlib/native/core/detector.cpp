#include "detector.hpp"

#include <algorithm>

namespace csaud {
namespace {
constexpr Nanos kBatchGap = 1;  // packets read in one batch arrive "together"
constexpr unsigned kMaxRounds = 16;

Nanos doubled(Nanos wait, unsigned rounds, Nanos longest) noexcept {
    for (unsigned i = 0; i < rounds && wait < longest; ++i) wait *= 2;
    return std::min(wait, std::max(longest, Nanos{1}));
}
}  // namespace

void IntervalDetector::reset(Nanos now, Nanos packet_time, Nanos first_wait) noexcept {
    history_.reset();
    last_arrival_ = now;
    reported_at_ = kNever;
    first_due_ = now + first_wait;
    not_before_ = 0;
    mean_gap_ = packet_time;
    reported_high_ = 0;
    idle_rounds_ = 0;
    postponed_ = any_arrival_ = false;
}

Nanos IntervalDetector::interval(const Reassembly& r, const IntervalTerms& t) const noexcept {
    double tail = 0;  // tau
    if (static_cast<double>(r.received()) > t.tail_packets) {
        tail = std::max(0.0, 1.0 - static_cast<double>(r.missing()) / t.tail_packets);
    }
    const double shrink = 1.0 - 0.75 * std::max(tail, t.barrier);
    const double margin =
        static_cast<double>(4 * t.sigma + 3 * mean_gap_) * shrink * static_cast<double>(1U << t.backoff);
    const Nanos t_max = std::max(t.t_min, 2 * (t.rtt_base + t.queue_max));
    return std::clamp(t.delta + static_cast<Nanos>(margin), t.t_min, t_max);
}

void IntervalDetector::arrived(const Serial& serial, Nanos now, const Reassembly& r, std::uint32_t tx_ts,
                               const IntervalTerms& t) noexcept {
    if (any_arrival_) mean_gap_ += (std::max(now - last_arrival_, kBatchGap) - mean_gap_) / 8;
    any_arrival_ = true;
    last_arrival_ = now;
    idle_rounds_ = 0;
    history_.note(serial, now, static_cast<std::uint16_t>(r.high()), tx_ts, interval(r, t) / 4);
}

void IntervalDetector::sender_says(const Serial& serial, Nanos now, const Reassembly& r, std::uint16_t sent,
                                   std::uint32_t tx_ts, const IntervalTerms& t) noexcept {
    if (sent == 0 || r.next_missing(0, sent) == sent)
        return;  // we have it all: the sender is slow, not the path
    // From now on everything it has sent is as good as overtaken: its word was sent after it.
    history_.note(serial, now, static_cast<std::uint16_t>(sent + 1), tx_ts, interval(r, t) / 4);
    idle_rounds_ = 0;
}

Nanos IntervalDetector::lateness(Nanos now, std::size_t idx) const noexcept {
    const Nanos passed = history_.passed(idx);
    return passed == kNever ? -1 : now - passed;
}

Nanos IntervalDetector::idle_wait(Nanos interval, const IntervalTerms& t) const noexcept {
    const Nanos first = reported_at_ == kNever ? interval : interval + t.rtt_patience;
    return doubled(first, idle_rounds_, t.longest_wait);
}

Nanos IntervalDetector::idle_due(Nanos interval, const IntervalTerms& t) const noexcept {
    if (!any_arrival_ && reported_at_ == kNever) return first_due_;
    const Nanos since = reported_at_ == kNever ? last_arrival_ : std::max(last_arrival_, reported_at_);
    return since + idle_wait(interval, t);
}

Nanos IntervalDetector::hole_due(const Reassembly& r, Nanos interval, const IntervalTerms& t) const noexcept {
    const auto* newest = history_.newest();
    if (newest == nullptr || r.first_missing() + 1 >= newest->high) return kNever;
    Nanos due = kNever;
    const std::size_t fresh =
        r.next_missing(std::max<std::size_t>(r.first_missing(), reported_high_), r.total());
    if (fresh < r.total()) {
        const Nanos passed = history_.passed(fresh);
        if (passed != kNever) due = passed + interval;
    }
    if (reported_at_ != kNever && r.first_missing() < reported_high_) {
        // Reported before: the answer needs a round trip, and then the interval runs again.
        const Nanos passed = history_.passed(r.first_missing());
        if (passed != kNever) due = std::min(due, std::max(passed, reported_at_ + t.rtt_patience) + interval);
    }
    return due;
}

Nanos IntervalDetector::deadline(const Reassembly& r, const IntervalTerms& t) const noexcept {
    const Nanos i = interval(r, t);
    return std::max(not_before_, std::min(hole_due(r, i, t), idle_due(i, t)));
}

bool IntervalDetector::postpone(Nanos now, const IntervalTerms& t, const Reassembly& r) noexcept {
    if (postponed_) return false;
    postponed_ = true;
    not_before_ = now + interval(r, t);
    return true;
}

std::optional<IntervalDetector::Report> IntervalDetector::poll(Nanos now, const Reassembly& r,
                                                               const IntervalTerms& t) noexcept {
    const Nanos i = interval(r, t);
    if (now < not_before_) return std::nullopt;
    const bool hole = hole_due(r, i, t) <= now;
    const bool idle = idle_due(i, t) <= now;
    if (!hole && !idle) return std::nullopt;
    postponed_ = false;
    if (!hole && idle_rounds_ < kMaxRounds) ++idle_rounds_;
    reported_at_ = now;
    Report report;
    if (const auto* ripe = history_.as_of(now - i); ripe != nullptr) {
        report = {true, ripe->ts};
        reported_high_ = std::max(reported_high_, ripe->high);
    }
    return report;
}

}  // namespace csaud
