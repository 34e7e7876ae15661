// Control packets waiting to go. What can change until then (bitmap, credit, time) is filled in when they go.
#pragma once

#include <cstdint>

#include "csaud_host/base/ring_queue.hpp"
#include "csaud_host/wire/message_name.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud {

inline constexpr std::uint16_t kAnyPath = UINT16_MAX;

struct ControlItem {
    wire::Type type = wire::Type::ack;
    wire::Reason reason = wire::Reason::none;
    std::uint8_t flags = 0;  // of the control part
    std::uint8_t attempt = 0;
    std::uint16_t peer = 0;
    std::uint16_t pkt_idx = 0;
    std::uint16_t pkt_total = 0;
    std::uint16_t path = 0;
    wire::PathGap gap;             // on it
    std::uint16_t via = kAnyPath;  // the path that it takes
    std::uint16_t cumulative = 0;
    bool noted = false;  // a PROBE that carries the note to its peer
    std::uint32_t newest_ts = 0;
    MessageName name;
};

// `about`: the message, or with src_rank as the type has it; total: packets of the message, 0: of none.
inline ControlItem control_item(wire::Type type, wire::Reason reason, std::uint16_t peer,
                                const MessageName& about, std::uint16_t total = 0) noexcept {
    ControlItem item;
    item.type = type;
    item.reason = reason;
    item.peer = peer;
    item.name = about;
    item.pkt_total = total;
    return item;
}

class ControlQueue {
  public:
    // A queue this long is a flood; every control packet may be lost, so the newest is.
    static constexpr std::size_t kLimit = 1U << 17;

    void push(const ControlItem& item) {
        if (items_.size() < kLimit) items_.push(item);
    }
    bool empty() const noexcept { return items_.empty(); }
    ControlItem pop() { return items_.pop(); }
    void clear() noexcept { items_.clear(); }

  private:
    RingQueue<ControlItem> items_;
};

}  // namespace csaud
