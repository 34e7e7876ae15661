#include "link_trial.hpp"

namespace csaud::device::onlink {
namespace {

constexpr Nanos kTrust = 250 * kMillisecond;    // without an answer; a peer is given up for dead much later
constexpr Nanos kAgain = 50 * kMillisecond;     // between questions to a peer that is on the link
constexpr Nanos kPatience = 20 * kMillisecond;  // for the first answer; ten times as long with each try
constexpr unsigned kTries = 4;
constexpr std::uint8_t kBriefTrain = 2;  // packets of padding, to a peer that is on the link

}  // namespace

std::optional<Question> LinkTrial::due(Nanos now) {
    if (trusted_ && !on_link(now)) {  // nothing was to be sent for long, or no answer came: from the start
        trusted_ = single_passed_ = false;
        tries_ = 0;
        next_ = now;
    }
    if (now < next_ || tries_ == kTries) return std::nullopt;
    if (trusted_) {
        next_ = now + kAgain;
        return Question{Kind::question, kBriefTrain, nonce_};
    }
    Nanos patience = kPatience;
    for (unsigned i = 0; i < tries_; ++i) patience *= 10;
    ++tries_;
    next_ = now + patience;
    return Question{Kind::question, single_passed_ ? kWholeTrain : std::uint8_t{0}, nonce_};
}

void LinkTrial::answered(const Question& answer, Nanos now) {
    if (answer.nonce != nonce_) return;
    if (answer.padding == 0 && !single_passed_) {
        single_passed_ = true;
        next_ = now;
        tries_ = 0;
    } else if (answer.padding != 0 && single_passed_) {
        trusted_ = true;
        trusted_until_ = now + kTrust;
        next_ = now + kAgain;
        tries_ = 0;
    }
}

void LinkTrial::asked() {
    if (tries_ != kTries) return;
    tries_ = 0;
    next_ = 0;
}

}  // namespace csaud::device::onlink
