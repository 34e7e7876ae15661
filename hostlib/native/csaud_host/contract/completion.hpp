// What becomes of a posted send or receive.
#pragma once

#include <cstdint>

#include "csaud_host/base/time.hpp"
#include "csaud_host/wire/message_name.hpp"

namespace csaud {

enum class CompletionKind : std::uint8_t { send, recv };

enum class Status : std::uint8_t {
    ok,
    peer_unreachable,  // `rank` was silent for dead_after, here or at the rank that told us
    aborted,           // some rank (`rank`) called abort()
    protocol,          // the peer contradicts itself
};

const char* to_string(Status) noexcept;

struct Completion {
    std::uint64_t id = 0;  // what post_send / post_recv returned
    CompletionKind kind = CompletionKind::send;
    Status status = Status::ok;
    std::uint16_t rank = 0;   // the peer, or the failed rank where status is peer_unreachable / aborted
    std::uint64_t bytes = 0;  // of the message
    Nanos started_ns = 0;     // send: posted; recv: its first packet arrived (posted, where none did)
    Nanos finished_ns = 0;
    MessageName name;
};

// What a collective's schedule knows of a message (docs/protocol.md, "What the schedule tells").
struct Hints {
    std::uint8_t cls = 4;    // criticality class 0 (control, barrier) .. 4 (new data)
    bool barrier = false;    // sets the BARRIER flag
    bool scheduled = false;  // of a collective: others wait for it
    bool chained = false;    // of one whose sends wait for what was received: a repair is waited for in turn
    std::uint16_t fan_in = 0;  // ranks that send to the destination at full rate meanwhile; 0: not known
    Nanos expected_start = 0;  // absolute; 0 = not known
    Nanos jitter = 0;          // of the expected start
};

}  // namespace csaud
