// The adaptive interval: when a receiver should tell a sender which packets of a message are missing.
//
//   T_det  = clamp(delta + 2 sigma, T_min, max(T_min, T_max))   in a hurry
//   T_det  = clamp(delta + 4 sigma, T_min, max(T_min, T_max))   while nothing is lost
//   T_min  = a round trip; Q where there is no hurry; at least a tick and two packets. Half a round trip is
//            enough for what a schedule waits for, in a hurry or where nothing else is to come meanwhile
//   T_tail = max(T_det + g, Q) in a hurry, else with 3 g; Q is what DATA hardly exceeds in queues
//
// A report is due when a hole is older than T_det (a packet sent after it arrived that long ago), when the
// message has been idle for T_tail, or when nothing at all came for the time that a first packet needs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "csaud_host/base/sequence.hpp"
#include "csaud_host/base/time.hpp"
#include "csaud_host/loss/arrival_history.hpp"
#include "csaud_host/loss/reorder.hpp"
#include "csaud_host/messages/reassembly.hpp"

namespace csaud {

// What the interval depends on beside the message itself.
struct IntervalTerms {
    Nanos fixed = 0;  // an interval that does not adapt; 0: none
    Nanos rtt_base = 0;
    Nanos rtt_smoothed = 0;
    Nanos rtt_patience = 0;  // what a round trip hardly exceeds
    Nanos delta = 0;
    Nanos sigma = 0;
    bool hurry = false;           // something was lost silently of late
    bool scheduled = false;       // others wait for the message
    bool alone = false;           // and nobody else is to send meanwhile
    Nanos tick = 0;               // what timers and time stamps resolve
    Nanos packet_time = 0;        // of a full packet on the link
    Nanos queue_max = 0;          // Q_max
    Nanos queueing = 0;           // what DATA stands in queues beyond control packets, hardly exceeded
    Nanos tail = 0;               // what is missing at a message's end is not asked for sooner
    Nanos longest_wait = 0;       // between two reports of one message
    std::uint32_t answer_ts = 0;  // the sender's clock when it hears a report made now: answers are not older
};

class IntervalDetector {
  public:
    // What a STATE shall say. seen: newest_ts holds the newest tx_ts and highest_idx the highest packet that
    // arrived at least T_det ago.
    struct Report {
        bool seen = false;
        std::uint16_t highest_idx = 0;
        std::uint32_t newest_ts = 0;
        bool idle = false;  // nothing came for so long that what was sent after all that arrived is due, too
    };

    // A new message. `gap`: the first guess of g. First report `first_wait` from now if nothing arrives.
    void reset(Nanos now, Nanos gap, Nanos first_wait) noexcept;

    // A better guess of g, before anything arrives.
    void expect_gap(Nanos gap) noexcept;

    // A new packet of the message arrived, which now reaches up to `high`, with or without holes.
    void arrived(const Serial& serial, ArrivalStore& store, Nanos now, std::size_t high, bool holes,
                 std::uint32_t tx_ts) {
        // Gaps and spacings of more than four seconds are four seconds.
        if (history_.any()) [[likely]] {
            const Nanos gap = std::max(now - history_.last(), kBatchGap);
            mean_gap_ =
                static_cast<std::uint32_t>(std::min<Nanos>(mean_gap() + (gap - mean_gap()) / 8, UINT32_MAX));
        }
        rounds_ = 0;
        asked_idle_ = false;
        history_.note(serial, store, now, static_cast<std::uint16_t>(high), tx_ts, holes, spacing_);
    }
    // PARITY of the message came, which was sent after all of it.
    void parity_arrived(const Serial& serial, ArrivalStore& store, Nanos now, const Reassembly& r,
                        std::uint32_t tx_ts) {
        history_.note(serial, store, now, static_cast<std::uint16_t>(r.total() + 1), tx_ts, true, spacing_);
    }
    // The message goes.
    void close(ArrivalStore& store) noexcept { history_.reset(store); }

    // The sender said that it has sent the first `sent` packets by its time `tx_ts`.
    void sender_says(Nanos now, const Reassembly&, std::uint16_t sent, std::uint32_t tx_ts,
                     const IntervalTerms&) noexcept;

    // The sender said that it has not begun. It asks itself once it has: we need not hurry.
    void not_started() noexcept;

    // A report if one is due; it counts as made.
    std::optional<Report> poll(const Serial&, Nanos now, const Reassembly&, const IntervalTerms&) noexcept;
    // The caller was stopped and may have unread packets: nothing is due before another interval. Works once
    // between two polls, so that a caller who is always late still reports.
    bool postpone(Nanos now, const IntervalTerms&) noexcept;

    // Nothing is due before `until`.
    void defer(Nanos until) noexcept { not_before_ = until; }

    Nanos deadline(const Serial&, const Reassembly&, const IntervalTerms&) const noexcept;

    Nanos interval(const IntervalTerms&) const noexcept;

    // How finely the history is kept: a quarter of the present interval. Set now and then, not with each
    // packet.
    void set_spacing(Nanos spacing) noexcept;

    // How late the packet `idx`, arriving now, is behind the first that was sent after it; negative: it is
    // not late.
    Nanos lateness(Nanos now, std::size_t idx) const noexcept;

    Nanos mean_gap() const noexcept { return mean_gap_; }
    // When the last packet of the message arrived; 0: none did.
    Nanos last_arrival() const noexcept { return history_.last(); }

  private:
    static constexpr Nanos kBatchGap = 1;  // packets read in one batch arrive "together"

    // The sender's word that it has sent so many packets: as if a later packet had arrived at `at`.
    struct Word {
        Nanos at = kNever;  // kNever: none
        std::uint32_t ts = 0;
        std::uint16_t sent = 0;
    };

    Nanos hole_due(const Serial&, const Reassembly&, Nanos interval, const IntervalTerms&) const noexcept;
    Nanos word_due(const Reassembly&, Nanos interval, const IntervalTerms&) const noexcept;
    Nanos tail_wait(Nanos interval, const IntervalTerms&) const noexcept;
    Nanos idle_due(Nanos interval, const IntervalTerms&) const noexcept;

    ArrivalHistory history_;
    Nanos reported_at_ = kNever;  // kNever: no report yet
    Nanos first_due_ = 0;
    Nanos not_before_ = 0;
    Word word_;
    std::uint32_t spacing_ = 0;        // ns
    std::uint32_t mean_gap_ = 0;       // g, ns
    std::uint32_t answer_ts_ = 0;      // of the last report
    std::uint16_t reported_high_ = 0;  // holes below it were reported
    std::uint8_t rounds_ = 0;          // reports since the last arrival
    bool asked_idle_ : 1 = false;      // since the last arrival
    bool postponed_ : 1 = false;
};

}  // namespace csaud
