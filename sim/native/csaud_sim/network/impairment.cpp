#include "csaud_sim/network/impairment.hpp"

#include <stdexcept>
#include <string>

namespace csaud::sim {

ImpairedLink::ImpairedLink(const Impairment& asked)
    : asked_(asked), stay_(1 - 1 / asked.burst), random_(asked.seed) {
    if (!(asked.loss >= 0 && asked.loss <= 1))
        throw std::invalid_argument("a share of losses lies between 0 and 1");
    if (!(asked.burst >= 1)) throw std::invalid_argument("a burst is at least 1 frame long");
    if (asked.jitter < 0) throw std::invalid_argument("jitter cannot be negative");
    // Of a chain with two states, the share of time in the bad one is enter / (enter + leave). Bursts of one
    // frame are losses that do not depend on each other.
    const double most = asked.burst / (asked.burst + 1);
    if (asked.burst > 1 && asked.loss > most && asked.loss < 1)
        throw std::invalid_argument("bursts of " + std::to_string(asked.burst) +
                                    " frames on average cannot lose more than a share of " +
                                    std::to_string(most));
    if (asked.burst > 1 && asked.loss < 1) {
        enter_ = asked.loss / (asked.burst * (1 - asked.loss));
    } else {
        enter_ = stay_ = asked.loss;
    }
}

bool ImpairedLink::concerns(FrameBytes frame) const {
    const FrameKind kind = kind_of(frame);
    if ((asked_.kinds >> static_cast<unsigned>(kind) & 1U) == 0) return false;
    if (asked_.classes == Impairment::kAll || kind == FrameKind::other) return true;
    const auto headers = csa_headers(frame);
    return headers && (asked_.classes >> headers->csa.cls & 1U) != 0;
}

bool ImpairedLink::loses(FrameBytes frame) {
    if (asked_.loss == 0 || !concerns(frame)) return false;
    return losing_ = chance(losing_ ? stay_ : enter_);
}

Nanos ImpairedLink::extra() {
    if (asked_.jitter == 0) return 0;
    return static_cast<Nanos>(random_() % (static_cast<std::uint64_t>(asked_.jitter) + 1));
}

}  // namespace csaud::sim
