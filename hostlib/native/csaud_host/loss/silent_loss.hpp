// How many first copies are lost without a word, and how many of one message together. Receivers count, since
// they know what came: what was sent again or given back by parity, less what was only late
// (docs/protocol.md, "Parity").
#pragma once

#include <algorithm>
#include <cstdint>

namespace csaud {

class SilentLoss {
  public:
    // A message of so many packets is over, and since the last one so many more first copies were found to be
    // lost; fewer than 0: what was taken for lost came late.
    void message(std::uint32_t packets, std::int32_t lost) noexcept {
        packets_ += packets;
        sizes_ += static_cast<double>(packets) * packets;
        lost_ += lost;
        squares_ += static_cast<double>(lost) * (lost < 0 ? -lost : lost);
        if (packets_ < kMemory) return;
        packets_ /= 2;
        sizes_ /= 2;
        lost_ /= 2;
        squares_ /= 2;
    }

    // Share of the packets; of few packets, what `all` peers show counts.
    double rate(const SilentLoss& all) const noexcept {
        const double prior = all.packets_ > 0 ? std::max(all.lost_, 0.0) / all.packets_ : 0;
        return (std::max(lost_, 0.0) + kPrior * prior) / (packets_ + kPrior);
    }
    // How many are lost together: losses come in so many at once, each time at random.
    double burst() const noexcept {
        if (lost_ <= 0 || packets_ <= 0) return 1;
        return std::max(1.0, squares_ / lost_ - sizes_ / packets_ * lost_ / packets_);
    }

  private:
    static constexpr double kMemory = 1 << 17;  // packets
    static constexpr double kPrior = 1024;

    double packets_ = 0;
    double sizes_ = 0;  // squares of the packets of each message
    double lost_ = 0;
    double squares_ = 0;  // of the losses of each message
};

// The receiver's count of them, of one sender. What may be only late is not told before the message after it
// is over: whoever was told would send parity, which overtakes what is late.
class LossTally {
  public:
    // Its first copy would be here, if it came at all.
    void lost() noexcept { ++told_; }
    // A message is over; so many of its first copies, not counted yet, are lost or late.
    void ended(std::uint16_t missing) noexcept {
        told_ = static_cast<std::uint16_t>(told_ + recent_);
        recent_ = missing;
    }
    // A first copy of a message that is over came, or a switch tells of it.
    void not_silent() noexcept {
        if (recent_ != 0) {
            --recent_;
        } else {
            --told_;
        }
    }
    // Modulo 2^16.
    std::uint16_t told() const noexcept { return told_; }

  private:
    std::uint16_t told_ = 0;
    std::uint16_t recent_ = 0;  // of the message that ended last
};

// The sender's view of that count.
class LossCount {
  public:
    // What came on top since it was last told; none where it was counted anew.
    std::int32_t heard(std::uint16_t count, std::uint32_t packets) noexcept {
        const auto more = static_cast<std::int16_t>(count - count_);
        count_ = count;
        const std::int32_t most = 2 * static_cast<std::int32_t>(packets) + 8;
        return more > most || -more > most ? 0 : more;
    }

  private:
    std::uint16_t count_ = 0;
};

}  // namespace csaud
