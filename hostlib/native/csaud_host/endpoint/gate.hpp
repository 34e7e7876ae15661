// The door of an endpoint: which packets are taken at all. Each one that is not is in one counter of the
// books.
#pragma once

#include <cstddef>
#include <span>

#include "csaud_host/peers/context.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud {

class Gate {
  public:
    explicit Gate(Context&);

    // Takes a packet apart; false: it is none of ours, and counted.
    bool admit(std::span<const std::byte> packet, wire::Decoded&) noexcept;

  private:
    void count(wire::Fault) noexcept;
    bool from_its_rank(const wire::Decoded&) const noexcept;
    bool authentic(const wire::Decoded&) const noexcept;

    Context& ctx_;
    wire::Expect expect_;
};

}  // namespace csaud
