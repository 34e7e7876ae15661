// What receivers and switches say of our messages: whether it can be true, and what of it is news.
#pragma once

#include <cstdint>

#include "csaud_host/base/time.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/sending/sends.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud {

class Reports {
  public:
    Reports(Context& c, Sends& s) : ctx_(c), sends_(s) {}

    enum class Verdict : std::uint8_t { fits, bad_index, bad_loss };

    // Do an ACK or a STATE and what was sent fit together? If not, it must change nothing.
    Verdict judge(const wire::Decoded&);
    // The same of a LOSS that a switch bounced: a copy of ours that was for `dst`.
    Verdict judge_bounce(const wire::Decoded&, std::uint16_t dst);

    // Takes over what a STATE says of a message.
    void merge(SendMessage&, const wire::Decoded&, Nanos now);

  private:
    bool fits(const SendMessage&, const wire::Decoded&) const noexcept;
    bool was_sent(const SendMessage&, std::uint16_t idx, std::uint8_t attempt) noexcept;
    void dispute(SendMessage&, const Bitmap& reported, const Peer&, Nanos now);

    Context& ctx_;
    Sends& sends_;
};

}  // namespace csaud
