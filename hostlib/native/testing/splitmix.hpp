// Seeded random numbers (splitmix64): the same on every machine, unlike the distributions of <random>.
#pragma once

#include <cstdint>

namespace csaud::testing {

class SplitMix {
  public:
    explicit SplitMix(std::uint64_t seed) noexcept : state_(seed) {}

    std::uint64_t next() noexcept {
        std::uint64_t x = (state_ += 0x9e3779b97f4a7c15ULL);
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
        return x ^ (x >> 31);
    }
    // In [0, n); n > 0.
    std::uint64_t below(std::uint64_t n) noexcept { return next() % n; }
    // True with probability p.
    bool chance(double p) noexcept { return p > 0 && static_cast<double>(next() >> 11) * 0x1p-53 < p; }

  private:
    std::uint64_t state_;
};

}  // namespace csaud::testing
