// A host's clock, which may be off and run fast or slow.
#pragma once

#include "csaud_host/base/time.hpp"

namespace csaud::sim {

class Clock {
  public:
    // ppb: nanoseconds that it gains in a second, above -1e9 and below 1e9.
    explicit Clock(std::int64_t ppb = 0, Nanos offset = 0) : ppb_(ppb), offset_(offset) {}

    // What it shows at a time of the simulation.
    Nanos local(Nanos time) const { return time + offset_ + (ppb_ == 0 ? 0 : gained(time)); }
    // When it first shows `local` or more.
    Nanos time(Nanos local) const {
        if (local == kNever || ppb_ == 0) return local == kNever ? kNever : local - offset_;
        Nanos guess =
            static_cast<Nanos>(static_cast<Wide>(local - offset_) * kSecond / (kSecond + Wide{ppb_}));
        while (this->local(guess) >= local) --guess;
        while (this->local(guess) < local) ++guess;
        return guess;
    }

  private:
    __extension__ using Wide = __int128;

    Nanos gained(Nanos time) const {
        const Wide product = Wide{time} * ppb_;
        return static_cast<Nanos>(product >= 0 ? product / kSecond : -((-product + kSecond - 1) / kSecond));
    }

    std::int64_t ppb_;
    Nanos offset_;
};

}  // namespace csaud::sim
