// What PARITY gives back: packets of posted receives are added to the sums as they come, so that only what is
// missing is left to be solved for (docs/protocol.md, "Parity").
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "csaud_host/base/pool.hpp"
#include "csaud_host/parity/parity_rows.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/receiving/receives.hpp"

namespace csaud {

class ParityRepairs {
  public:
    explicit ParityRepairs(Context& c) : ctx_(c), buffers_(c.payload_bytes) {}

    // A packet of a posted receive lies at its place; it is not marked yet.
    void arrived(Receive& m, const Peer& peer, std::uint16_t pkt_idx) {
        if (m.parity == kNone && (peer.parity_rows == 0 || !expect(m, peer))) return;
        add(m, pkt_idx);
    }
    // A row of a posted receive came; false: it does not fit to the message.
    bool came(const wire::Decoded&, Receive&);
    // Puts what is missing into the buffer, if there are rows enough; their indices. To be marked by the
    // caller.
    std::span<const std::uint16_t> solve(Receive&);
    // It is over, or its buffer is of no concern any more. complete: with all of its packets.
    void close(Receive& m, Peer& peer, bool complete);

    std::size_t bytes() const noexcept { return all_.bytes() + buffers_.bytes(); }

  private:
    // Its sender sends parity of late: sums go along from the first packet on.
    bool expect(Receive&, const Peer&);
    void open(Receive&, std::size_t covered, std::size_t rows);
    void add(Receive&, std::size_t pkt_idx);

    Context& ctx_;
    RowPool buffers_;
    Pool<ParityRows> all_;
    std::array<std::uint16_t, kMostParityRows> found_{};
};

}  // namespace csaud
