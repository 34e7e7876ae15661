// Whether a peer is on this rank's own link, so that no router and no switch of a fabric sees the packets
// between them: questions live for one hop (TTL 1), and so do their answers. A single packet comes first,
// then trains, as what passes on short packets may drop long frames.
//
// No socket and no clock: time is passed in.
#pragma once

#include <cstdint>
#include <optional>

#include "csaud_host/base/time.hpp"
#include "question.hpp"

namespace csaud::device::onlink {

class LinkTrial {
  public:
    // `nonce`: the peer's alone; who does not see the questions cannot answer them.
    explicit LinkTrial(std::uint64_t nonce) : nonce_(nonce) {}

    // Whether trains may go to the peer: one got there and an answer came back, not long ago.
    bool on_link(Nanos now) const { return now < trusted_until_; }

    // Of `padding`: as much as a train has room for.
    static constexpr std::uint8_t kWholeTrain = 255;

    // The question to ask now that there is something to send; nothing: it was asked just now, or several
    // times in vain.
    std::optional<Question> due(Nanos now);

    void answered(const Question& answer, Nanos now);

    // The peer has asked: what crosses the link in its direction may cross it in ours.
    void asked();

  private:
    std::uint64_t nonce_;
    Nanos trusted_until_ = 0;
    Nanos next_ = 0;        // question
    unsigned tries_ = 0;    // since the last answer
    bool trusted_ = false;  // when it was last looked at
    bool single_passed_ = false;
};

}  // namespace csaud::device::onlink
