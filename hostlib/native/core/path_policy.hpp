// Which path a packet takes: round robin over the path ids, one step a packet; a retransmission never takes
// the path on which its copy was lost (where there is another one).
#pragma once

#include <cstdint>

namespace csaud {

class RoundRobinPaths {
  public:
    RoundRobinPaths() = default;
    RoundRobinPaths(std::uint16_t paths, std::uint32_t start) noexcept
        : paths_(paths), next_(static_cast<std::uint16_t>(start % paths)) {}

    std::uint16_t next() noexcept {
        const std::uint16_t path = next_;
        next_ = static_cast<std::uint16_t>((next_ + 1U) % paths_);
        return path;
    }
    std::uint16_t next_other(std::uint16_t lost) noexcept {
        const std::uint16_t path = next();
        return path == lost ? next() : path;
    }

  private:
    std::uint16_t paths_ = 1;
    std::uint16_t next_ = 0;
};

}  // namespace csaud
