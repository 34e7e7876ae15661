// Parity of messages: summed up as their packets go, sent when nothing else is to be sent, or, of a chain,
// before what follows (docs/protocol.md, "Parity").
#pragma once

#include <cstdint>

#include "csaud_host/base/pool.hpp"
#include "csaud_host/base/ring_queue.hpp"
#include "csaud_host/base/time.hpp"
#include "csaud_host/parity/parity_rows.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/sending/copy.hpp"
#include "csaud_host/sending/sends.hpp"

namespace csaud {

class ParityCopies {
  public:
    ParityCopies(Context& c, Sends& s) : ctx_(c), sends_(s), buffers_(c.payload_bytes) {}

    // The first packet of a message goes: has it parity?
    void begin(SendMessage&, const Peer&);
    // The first copy of a packet goes; of the last one, the message's rows follow.
    void sent(std::uint32_t index, std::uint16_t pkt_idx, Peer&, Nanos now);
    // A message is over. Its rows stay until its completion is taken.
    void over(SendMessage&);
    void taken(std::uint64_t id);

    bool empty() const noexcept { return of_chains_.empty() && others_.empty(); }
    // A row of each message in turn: of messages of a chain, before any first copy; of the others.
    bool next_of_chain(Copy& copy, Nanos now) { return next(of_chains_, copy, now); }
    bool next(Copy& copy, Nanos now) { return next(others_, copy, now); }
    void clear() noexcept {
        of_chains_.clear();
        others_.clear();
    }

    std::size_t bytes() const noexcept { return all_.bytes() + buffers_.bytes(); }

  private:
    struct Outgoing {
        ParityRows rows;
        std::uint8_t next = 0;  // row to be sent
    };
    struct Retired {
        std::uint64_t message = 0;
        std::uint32_t rows = kNone;
    };

    bool next(RingQueue<Handle>& queue, Copy&, Nanos now);
    std::size_t rows_for(const SendMessage&, const Peer&, std::size_t covered) const noexcept;

    Context& ctx_;
    Sends& sends_;
    RowPool buffers_;
    Pool<Outgoing> all_;
    RingQueue<Handle> of_chains_, others_;  // all of whose packets have gone
    RingQueue<Retired> retired_;            // whose completions are not taken, in their order
};

}  // namespace csaud
