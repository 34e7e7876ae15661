// A message on its way out: what of it was sent, when and on which path, and what the receiver reported.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "csaud_host/base/bitmap.hpp"
#include "csaud_host/base/pool.hpp"
#include "csaud_host/base/time.hpp"
#include "csaud_host/messages/reassembly.hpp"
#include "csaud_host/wire/message_name.hpp"

namespace csaud {

// The newest copy of one packet.
struct PacketRecord {
    std::uint32_t tx_ts = 0;
    std::uint16_t path = 0;
    std::uint16_t path_seq = 0;
    std::uint8_t attempt = 0;
    bool queued = false;  // in the retransmission queue
};

// Arrays of packet records in sizes of powers of two, reused.
class RecordPool {
  public:
    std::uint32_t take(std::size_t packets);
    void release(std::uint32_t first, std::size_t packets);
    PacketRecord& at(std::uint32_t first, std::size_t idx) noexcept {
        return slabs_[first / kSlab][first % kSlab + idx];
    }

    std::size_t bytes() const noexcept { return slabs_.size() * kSlab * sizeof(PacketRecord); }

  private:
    static constexpr std::size_t kSlab = 4 * kMaxPackets;  // records
    static constexpr std::size_t kClasses = 10;            // 1, 2, 4 .. 512

    std::vector<std::vector<PacketRecord>> slabs_;
    std::size_t used_ = kSlab;  // of the newest slab
    std::vector<std::uint32_t> free_[kClasses];
};

struct SendMessage {
    std::uint64_t id = 0;
    MessageName name;
    std::uint16_t dst = 0;
    std::uint8_t cls = 4;
    bool barrier = false;
    std::span<const std::byte> buffer;
    std::uint16_t total = 0;
    std::uint16_t next = 0;  // first packet never sent
    Bitmap arrived;          // as the receiver reported
    std::uint16_t arrived_count = 0;
    std::uint32_t records = kNone;       // taken when the first packet goes
    std::uint32_t active_place = kNone;  // in the peer's list of begun messages
    std::uint32_t behind = kNone;        // the next one of its transfer
    Nanos posted = 0;
    Nanos last_news = 0;            // sent something, or heard of this message
    std::uint16_t refused = 0;      // sent, and not under way any more: the receiver had no room for them
    std::uint8_t probe_rounds = 0;  // unanswered or fruitless probes in a row
    bool awaited = false;           // the receive is posted, as the receiver said
    bool alone = false;             // nobody else sends there at full rate meanwhile, as the schedule knows
    bool chained = false;           // the receiver has to have it before it can send what follows
    std::uint8_t disputes = 0;      // STATEs in a row that lack what an earlier one had
    std::uint32_t disputed_ts = 0;  // when the last of them came
    std::uint32_t parity = kNone;   // its rows of parity

    bool all_sent() const noexcept { return next == total; }
    std::uint16_t left() const noexcept { return static_cast<std::uint16_t>(total - next); }
    // `full`: bytes of a full packet's payload.
    std::span<const std::byte> payload(std::size_t idx, std::size_t full) const noexcept {
        const Cut cut{full, buffer.size()};
        return buffer.subspan(cut.bytes == 0 ? 0 : idx * full, cut.length_of(idx));
    }
};
static_assert(sizeof(SendMessage) <= 176, "the memory of an active send");

}  // namespace csaud
