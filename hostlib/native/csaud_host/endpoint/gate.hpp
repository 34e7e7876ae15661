// The door of an endpoint: which packets are taken at all. Each one that is not is in one counter of the
// books.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "csaud_host/peers/context.hpp"
#include "csaud_host/wire/header_prediction.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud {

class Gate {
  public:
    explicit Gate(Context&);

    // Takes a packet apart, until the next one; nullptr: it is none of ours, and counted.
    const wire::Decoded* admit(std::span<const std::byte> packet) noexcept;
    // Somebody has another address from now on.
    void forget() noexcept {
        for (Flow& f : flows_) f.headers.forget();
    }

  private:
    // DATA of one message as it came last.
    struct Flow {
        wire::HeaderPrediction headers;
        wire::Decoded packet;
    };

    // The place of a packet that has room for headers. Messages share places.
    Flow& flow_of(std::span<const std::byte> packet) noexcept;
    bool examine(std::span<const std::byte> packet, wire::Decoded&) noexcept;
    void count(wire::Fault) noexcept;
    bool from_its_rank(const wire::Decoded&) const noexcept;
    bool authentic(const wire::Decoded&) const noexcept;

    Context& ctx_;
    wire::Expect expect_;
    std::array<Flow, 16> flows_;
    wire::Decoded other_;  // what is no DATA; kept, so that nothing of it is cleared in vain
};

}  // namespace csaud
