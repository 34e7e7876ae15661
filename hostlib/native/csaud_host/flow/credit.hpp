// Flow control: a receiver grants each sender a number of packets, cumulative, first copies only.
//
// A packet is consumed when it lies in a posted buffer. A peer may be ahead of that by the window, and all
// peers together by no more packets than the early pool holds, so early data never finds the pool full (but
// where there are more peers than it has room for packets). Each peer always has an initial window, which
// both ends compute from the job's settings and nobody needs to send.
//
// With each packet consumed the grant rises by one at least. So a sender that knows a receive to be posted
// takes the credit for its packets in anticipation: what is awaited never waits for credit.
#pragma once

#include <algorithm>
#include <cstdint>

#include "csaud_host/base/sequence.hpp"
#include "csaud_host/contract/config.hpp"

namespace csaud {

inline std::uint32_t initial_window(const EndpointConfig& c) noexcept {
    const std::uint32_t peers = c.world > 1 ? c.world - 1U : 1U;
    return std::clamp<std::uint32_t>(c.early_pool_packets / peers, 1, std::max(c.window, 1U));
}

// The sender's side, per peer.
class CreditAccount {
  public:
    explicit CreditAccount(std::uint32_t initial = 0) noexcept : limit_(initial) {}

    // What an account that rests is kept as. Numbers count on from there modulo 2^32, as they are on the
    // wire.
    struct Resting {
        std::uint32_t sent = 0;
        std::uint16_t open = 0;
    };
    explicit CreditAccount(const Resting& r) noexcept
        : limit_(std::uint64_t{r.sent} + r.open), sent_(r.sent) {}
    Resting resting() const noexcept {
        return {static_cast<std::uint32_t>(sent_), static_cast<std::uint16_t>(limit_ - sent_)};
    }

    bool may_send() const noexcept { return sent_ < limit_; }
    void sent() noexcept { ++sent_; }

    // A packet of a message that is awaited: the receiver will grant one more for it.
    void sent_anticipating() noexcept {
        ++sent_;
        ++limit_;
    }

    // Could a receiver have said this? It grants at most the window beyond what was consumed.
    bool plausible(const Serial& serial, std::uint32_t credit, std::uint32_t window) const noexcept {
        const std::int32_t more = serial.distance(serial.wrap(limit_), credit);
        return more <= 0 || limit_ + static_cast<std::uint64_t>(more) <= sent_ + std::uint64_t{window};
    }
    // True if that is more than before.
    bool update(const Serial& serial, std::uint32_t credit) noexcept {
        const std::int32_t more = serial.distance(serial.wrap(limit_), credit);
        if (more <= 0) return false;
        limit_ += static_cast<std::uint64_t>(more);
        return true;
    }

  private:
    std::uint64_t limit_;
    std::uint64_t sent_ = 0;
};

// What all grants of one receiver share.
struct CreditBudget {
    std::uint64_t extra_left = 0;  // packets that may be granted beyond the initial windows
};

// The receiver's side, per peer.
class CreditGrant {
  public:
    explicit CreditGrant(std::uint32_t initial = 0) noexcept
        : initial_(initial), granted_(initial), told_(initial), open_(initial) {}

    struct Resting {
        std::uint32_t consumed = 0;
        std::uint16_t open = 0;    // granted and not consumed
        std::uint16_t untold = 0;  // granted and not told
    };
    CreditGrant(std::uint32_t initial, const Resting& r) noexcept
        : initial_(initial),
          granted_(std::uint64_t{r.consumed} + r.open),
          told_(granted_ - r.untold),
          open_(r.open) {}
    Resting resting() const noexcept {
        return {static_cast<std::uint32_t>(granted_ - open_), static_cast<std::uint16_t>(open_),
                static_cast<std::uint16_t>(granted_ - told_)};
    }

    // `n` packets of this peer went into posted buffers; raises the grant as far as window and budget allow.
    // What is open never becomes less, though the window may: a sender may have taken it in anticipation.
    void consumed(std::uint32_t n, std::uint32_t window, CreditBudget& budget) noexcept {
        if (open_ >= window) [[likely]] {  // and it will be again, from the same budget
            granted_ += n;
            return;
        }
        const std::uint64_t before = extra();
        const std::uint64_t consumed = granted_ - open_ + n;
        granted_ = std::max(granted_, consumed + initial_);
        open_ = granted_ - consumed;
        budget.extra_left += before - extra();
        const std::uint64_t wish = window > open_ ? window - open_ : 0;
        const std::uint64_t more = std::min(wish, budget.extra_left);
        granted_ += more;
        open_ += more;
        budget.extra_left -= more;
    }

    // Packets that the peer may be ahead of posted buffers.
    std::uint64_t open() const noexcept { return open_; }

    // The field of the wire; saying it settles what was due.
    std::uint32_t tell(const Serial& serial) noexcept {
        told_ = granted_;
        return serial.wrap(granted_);
    }
    // Is there enough news to be worth a packet of its own? A quarter of what the sender may have open.
    bool worth_telling() const noexcept { return granted_ - told_ >= std::max<std::uint64_t>(1, open_ / 4); }

  private:
    // Granted and not consumed, beyond the initial window.
    std::uint64_t extra() const noexcept { return open_ > initial_ ? open_ - initial_ : 0; }

    std::uint32_t initial_;
    std::uint64_t granted_;
    std::uint64_t told_;
    std::uint64_t open_;  // granted and not consumed
};

}  // namespace csaud
