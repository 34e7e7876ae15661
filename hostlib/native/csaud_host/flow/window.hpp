// Congestion control: how many first copies of packets may be under way to a rank. Credit (credit.hpp) is
// about the receiver's memory, this is about the network's queues.
//
// The receiver decides, since it sees every packet's delay and mark and knows how many send to it; so no
// packet needs an ACK of its own. It tells a sender how many of its packets have arrived and how many may be
// under way, with every control packet and at least once for each quarter of the window.
//
// The rule is that of UEC's NSCC (Ultra Ethernet Specification 1.0, 3.6.13), which looks at marks and delay
// once a window, with the decrease of Swift (Kumar et al., SIGCOMM 2020):
//
//              no delay            delay
//   no mark    grow by an eighth   grow by one packet
//   marks      hold                shrink by 0.8 of the part of the delay that is too much, by half at most
//
// What a switch cut counts as marked and late. A window begins as the setting `window`, beyond which it grows
// for messages of a schedule, while nobody else sends.
#pragma once

#include <algorithm>
#include <cstdint>

#include "csaud_host/base/sequence.hpp"
#include "csaud_host/base/time.hpp"
#include "csaud_host/contract/config.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud {

// Packets under way to one rank that each of `senders`, sending at once, has a share in.
inline std::uint32_t window_share(const EndpointConfig& c, std::uint32_t senders) noexcept {
    return std::max(1U, c.shared_window / std::max(1U, senders));
}

// Packets under way, at most, of a sender to a rank of which the schedule says that nobody else sends there
// meanwhile: nobody has to wait behind them, so the window grows to what the path holds.
inline std::uint32_t lone_window(const EndpointConfig& c) noexcept {
    if (!c.shaping) return c.window;
    const std::uint32_t room = (1U << (std::min(c.bits.credit, 16U) - 2)) - 1;  // four windows, and less
    return std::max(c.window, std::min({4 * c.window, c.shared_window, room}));
}

// Where more senders than `shared_window` send to one rank, a packet of each would be too much already. They
// take turns then, by their own clocks: a packet each while every other one sends one, the first one when its
// place among them comes. Where their clocks are apart, as in an incast of which nobody knows when it begins,
// turns meet at random, and the queue stays far below one packet of each.
class Turns {
  public:
    // `senders`, each `turn` long; ours is number `place`.
    void take(std::uint32_t senders, std::uint32_t place, Nanos turn, Nanos now) noexcept {
        if (round_ == 0) next_ = now + static_cast<Nanos>(place % senders) * turn;
        round_ = static_cast<Nanos>(senders) * turn;
    }
    // The receiver says that more than one packet may be under way: so few send by now.
    void end() noexcept { round_ = 0; }

    bool mine(Nanos now) const noexcept { return round_ == 0 || now >= next_; }
    Nanos next() const noexcept { return next_; }
    // A turn that was missed is not made up for.
    void sent(Nanos now) noexcept {
        if (round_ != 0) next_ = std::max(next_, now - round_) + round_;
    }

  private:
    Nanos round_ = 0;  // 0: everyone sends when it may
    Nanos next_ = 0;
};

// The receiver's side, per peer.
class ReceiveWindow {
  public:
    explicit ReceiveWindow(std::uint32_t most = 1, std::uint32_t arrived = 0) noexcept
        : size_(most),
          whole_(most),
          arrived_(arrived),
          told_(arrived),
          told_size_(most),
          most_(most),
          share_(most) {
        set_news();
    }

    // The next sample() is of a packet that was marked, or for which a switch had no room.
    void marked() noexcept { ++marks_; }
    // A packet came that stood in queues for `late`. True: it is time to judge().
    bool sample(Nanos late) noexcept {
        late_ += late;
        return ++seen_ >= whole_;
    }
    // target: how long a packet may stand in queues.
    void judge(Nanos target) noexcept {
        const Nanos mean = late_ / seen_;
        const bool delayed = mean > target;
        if (marks_ == 0) {
            size_ += delayed ? 1.0 : std::max(1.0, size_ / 8);
        } else if (delayed) {
            const double excess = static_cast<double>(mean - target) / static_cast<double>(mean);
            size_ *= std::max(0.5, 1 - 0.8 * excess);
        }
        size_ = std::clamp(size_, 1.0, static_cast<double>(most_));
        whole_ = static_cast<std::uint32_t>(size_);
        seen_ = marks_ = 0;
        late_ = 0;
        set_news();
    }
    // So many new packets came, or (negative) were found not to belong here.
    void arrived(std::int32_t packets) noexcept { arrived_ += static_cast<std::uint32_t>(packets); }
    // This sender's part of what may be under way to us, which it shares with others; `alone`: with nobody,
    // as the schedule knows.
    void set_share(const EndpointConfig& c, std::uint32_t senders, bool alone) noexcept {
        if (senders == senders_ && alone == alone_) return;
        senders_ = senders;
        alone_ = alone;
        most_ = alone ? lone_window(c) : c.window;
        share_ = std::min(most_, window_share(c, senders));
        set_news();
    }

    std::uint32_t size() const noexcept { return std::min(whole_, share_); }
    bool worth_telling() const noexcept { return arrived_ - told_ >= news_; }
    wire::WindowNews tell(const Serial& serial) noexcept {
        told_ = arrived_;
        told_size_ = size();
        set_news();
        return {static_cast<std::uint16_t>(serial.wrap(arrived_)), static_cast<std::uint16_t>(told_size_)};
    }

  private:
    // So many packets are worth telling of.
    void set_news() noexcept { news_ = std::max(1U, std::min(told_size_, size()) / 4); }

    double size_;          // packets
    std::uint32_t whole_;  // the same, cut off
    std::uint32_t arrived_;
    std::uint32_t told_;
    std::uint32_t told_size_;
    std::uint32_t most_;
    std::uint32_t share_;
    bool alone_ = false;
    std::uint32_t senders_ = UINT32_MAX;  // not known yet
    std::uint32_t news_ = 1;
    std::uint32_t seen_ = 0;  // since the window was last judged
    std::uint32_t marks_ = 0;
    Nanos late_ = 0;  // sum
};

// The sender's side, per peer.
class SendWindow {
  public:
    explicit SendWindow(std::uint32_t size = 1, std::uint32_t sent = 0) noexcept
        : sent_(sent), arrived_(sent), size_(size) {}

    bool open() const noexcept { return under_way() < size_; }
    bool idle() const noexcept { return under_way() == 0; }
    void sent() noexcept { ++sent_; }
    // The schedule says that others send there, too, before the receiver can: true until it has.
    void shape(std::uint32_t size) noexcept {
        if (size >= size_) return;
        size_ = size;
        unconfirmed_ = true;
    }
    // Nobody knows yet that we wait: the last packet that goes asks for news.
    bool asks() const noexcept { return unconfirmed_ && !open(); }

    // News that others overtook is old. True if more may go than before.
    bool update(const Serial& serial, const wire::WindowNews& news) noexcept {
        const std::int32_t more = serial.distance(serial.wrap(arrived_), news.arrived);
        if (more < 0) return false;
        const bool was = open();
        arrived_ += std::min(static_cast<std::uint32_t>(more), sent_ - arrived_);
        size_ = std::max<std::uint32_t>(1, news.size);
        unconfirmed_ = false;
        return !was && open();
    }
    // The receiver had no room for so many packets: they are not under way until they are sent again.
    void refused(std::uint32_t packets) noexcept { refused_ += packets; }
    void sent_again(std::uint32_t packets) noexcept { refused_ -= packets; }
    // Nothing is under way.
    void settle() noexcept { arrived_ = sent_; }

  private:
    std::uint32_t under_way() const noexcept {
        const std::uint32_t unheard_of = sent_ - arrived_;
        return unheard_of - std::min(unheard_of, refused_);
    }

    std::uint32_t sent_;
    std::uint32_t arrived_;
    std::uint32_t size_;
    std::uint32_t refused_ = 0;
    bool unconfirmed_ = false;
};

}  // namespace csaud
