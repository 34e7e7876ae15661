#include "csaud_host/loss/detector.hpp"

#include <algorithm>

#include "csaud_host/loss/backoff.hpp"

namespace csaud {
namespace {
constexpr unsigned kMaxRounds = 32;
constexpr unsigned kNotStarted = 2;  // rounds that such an answer counts for, beside the question's own

// Gaps and spacings of more than four seconds are four seconds.
std::uint32_t narrow(Nanos time) noexcept {
    return static_cast<std::uint32_t>(std::clamp<Nanos>(time, 0, UINT32_MAX));
}
}  // namespace

void IntervalDetector::reset(Nanos now, Nanos gap, Nanos first_wait) noexcept {
    reported_at_ = kNever;
    first_due_ = now + first_wait;
    not_before_ = 0;
    mean_gap_ = narrow(gap);
    reported_high_ = 0;
    rounds_ = 0;
    word_ = {};
    asked_idle_ = false;
    postponed_ = false;
}

void IntervalDetector::expect_gap(Nanos gap) noexcept {
    mean_gap_ = narrow(gap);
}

Nanos IntervalDetector::interval(const IntervalTerms& t) const noexcept {
    if (t.fixed != 0) return t.fixed;
    const bool soon = t.hurry ? t.scheduled : t.alone;
    const Nanos trip = soon ? t.rtt_base / 2 : t.rtt_base;
    const Nanos least = t.hurry ? trip : std::max(trip, t.queueing);
    const Nanos t_min = std::max({t.tick, least, 2 * std::min(t.packet_time, mean_gap())});
    const Nanos t_max = std::max(t_min, 2 * (t.rtt_base + t.queue_max));
    return std::clamp(t.delta + (t.hurry ? 2 : 4) * t.sigma, t_min, t_max);
}

void IntervalDetector::sender_says(Nanos now, const Reassembly& r, std::uint16_t sent, std::uint32_t tx_ts,
                                   const IntervalTerms& t) noexcept {
    if (sent == 0 || r.next_missing(0, sent) == sent)
        return;  // we have it all: the sender is slow, not the path
    // The word was sent after these packets, but may have overtaken them in a queue.
    word_ = {now + std::min(t.queueing, t.queue_max), tx_ts, sent};
}

void IntervalDetector::not_started() noexcept {
    if (history_.any()) return;
    rounds_ = static_cast<std::uint8_t>(
        std::min(std::max<unsigned>(rounds_, kLostInARow) + kNotStarted, kMaxRounds));
}

void IntervalDetector::set_spacing(Nanos spacing) noexcept {
    spacing_ = narrow(spacing);
}

Nanos IntervalDetector::lateness(Nanos now, std::size_t idx) const noexcept {
    const Nanos passed = history_.passed(idx);
    return passed == kNever ? -1 : now - passed;
}

Nanos IntervalDetector::tail_wait(Nanos interval, const IntervalTerms& t) const noexcept {
    if (t.fixed != 0) return interval;
    return std::max(interval + (t.hurry ? 1 : 3) * mean_gap(), t.tail);
}

Nanos IntervalDetector::idle_due(Nanos interval, const IntervalTerms& t) const noexcept {
    if (!history_.any() && reported_at_ == kNever) return first_due_;
    if (!asked_idle_) return history_.last() + tail_wait(interval, t);
    return reported_at_ + backed_off(interval + t.rtt_smoothed, rounds_, t.longest_wait);
}

Nanos IntervalDetector::hole_due(const Serial& serial, const Reassembly& r, Nanos interval,
                                 const IntervalTerms& t) const noexcept {
    if (r.first_missing() + 1 >= history_.high()) return kNever;
    Nanos due = kNever;
    const std::size_t fresh =
        r.next_missing(std::max<std::size_t>(r.first_missing(), reported_high_), r.total());
    if (fresh < r.total()) {
        const Nanos passed = history_.passed(fresh);
        if (passed != kNever) due = passed + interval;
    }
    if (reported_at_ != kNever && r.first_missing() < reported_high_) {
        // Reported before. Only what was sent after the answer can show that the answer was lost, too.
        const Nanos passed = history_.reached(serial, answer_ts_);
        const Nanos again = reported_at_ + backed_off(interval, rounds_, t.longest_wait);
        if (passed != kNever) due = std::min(due, std::max(passed + interval, again));
    }
    return due;
}

Nanos IntervalDetector::word_due(const Reassembly& r, Nanos interval, const IntervalTerms& t) const noexcept {
    if (word_.at == kNever || r.next_missing(0, word_.sent) >= word_.sent) return kNever;
    return word_.at + backed_off(interval, rounds_, t.longest_wait);
}

Nanos IntervalDetector::deadline(const Serial& serial, const Reassembly& r,
                                 const IntervalTerms& t) const noexcept {
    const Nanos i = interval(t);
    return std::max(not_before_, std::min({hole_due(serial, r, i, t), word_due(r, i, t), idle_due(i, t)}));
}

bool IntervalDetector::postpone(Nanos now, const IntervalTerms& t) noexcept {
    if (postponed_) return false;
    postponed_ = true;
    not_before_ = now + interval(t);
    return true;
}

std::optional<IntervalDetector::Report> IntervalDetector::poll(const Serial& serial, Nanos now,
                                                               const Reassembly& r,
                                                               const IntervalTerms& t) noexcept {
    const Nanos i = interval(t);
    if (now < not_before_) return std::nullopt;
    const bool word = word_due(r, i, t) <= now;
    const bool idle = idle_due(i, t) <= now;
    if (!word && !idle && hole_due(serial, r, i, t) > now) return std::nullopt;
    postponed_ = false;
    if (rounds_ < kMaxRounds) ++rounds_;
    reported_at_ = now;
    answer_ts_ = t.answer_ts;
    if (idle) asked_idle_ = true;
    Report report;
    if (const ArrivalSample ripe = history_.as_of(now - i); ripe.high != 0 && r.first_missing() < ripe.high) {
        report = {true, static_cast<std::uint16_t>(ripe.high - 1), ripe.ts};
        reported_high_ = std::max(reported_high_, ripe.high);
    }
    if (word) {
        if (!report.seen || serial.distance(report.newest_ts, word_.ts) >= 0) {
            report = {true, static_cast<std::uint16_t>(word_.sent - 1), word_.ts};
        }
        reported_high_ = std::max(reported_high_, word_.sent);
        word_ = {};
    }
    report.idle = idle || !report.seen;
    return report;
}

}  // namespace csaud
