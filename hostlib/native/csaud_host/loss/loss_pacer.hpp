// How fast LOSS notices are passed on to senders. A few go at once; a flood of them (an incast that a switch
// trims) goes at the rate at which DATA still arrives, one for one: each arrival shows that the bottleneck
// has served a packet. So a copy is not sent again into the queue that was full a moment ago.
#pragma once

#include <cstdint>

#include "csaud_host/base/ring_queue.hpp"
#include "csaud_host/base/time.hpp"
#include "csaud_host/loss/loss_notices.hpp"

namespace csaud {

class LossPacer {
  public:
    struct Notice {
        CopyName copy;
        std::uint16_t total = 0;
    };

    // A notice came; true: pass it on now. Otherwise hold it.
    bool pass() noexcept {
        if (!held_.empty() || tokens_ == 0) return false;
        --tokens_;
        return true;
    }
    // False: it holds as many as are worth holding. What such a notice tells of, the interval will find.
    // Notices that are held less than `pause` apart are one flood.
    bool hold(const Notice& n, Nanos now, Nanos pause) {
        if (now - held_at_ >= pause) busy_since_ = now;
        held_at_ = now;
        if (held_.size() == kMostHeld) return false;
        held_.push(n);
        return true;
    }
    // When the last flood of them began.
    Nanos busy_since() const noexcept { return busy_since_; }

    // DATA arrived; true: one held notice may go.
    bool data_arrived() noexcept {
        if (!held_.empty()) return true;
        if (tokens_ < kBurst) ++tokens_;
        return false;
    }

    bool empty() const noexcept { return held_.empty(); }
    Notice take() { return held_.pop(); }
    const Notice& front() noexcept { return held_.front(); }
    void clear() noexcept { held_.clear(); }

  private:
    static constexpr unsigned kBurst = 16;          // packets; less than any switch's queue has room for
    static constexpr std::size_t kMostHeld = 8192;  // as many as are remembered

    RingQueue<Notice> held_;
    unsigned tokens_ = kBurst;
    Nanos held_at_ = 0;
    Nanos busy_since_ = 0;
};

}  // namespace csaud
