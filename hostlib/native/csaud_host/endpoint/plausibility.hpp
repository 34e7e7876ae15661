// What a packet says that cannot be, whatever the state of its message: ranks, indices, totals, echoed paths,
// sizes and credit.
#pragma once

#include "csaud_host/peers/context.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud {

class Plausibility {
  public:
    explicit Plausibility(const Context& c) : ctx_(c) {}

    bool data(const wire::Decoded&) const noexcept;
    bool parity(const wire::Decoded&) const noexcept;
    // A LOSS, whose payload a switch has cut; who sent the copy is for the caller to know.
    bool loss(const wire::CsaHeader&) const noexcept;
    bool control(const wire::Decoded&) const noexcept;

  private:
    static bool of_message(const wire::Decoded&) noexcept;

    const Context& ctx_;
};

}  // namespace csaud
