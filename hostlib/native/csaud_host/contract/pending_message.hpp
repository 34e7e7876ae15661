// A message that is not over, for what is said to people.
#pragma once

#include <cstdint>

#include "csaud_host/contract/completion.hpp"
#include "csaud_host/wire/message_name.hpp"

namespace csaud {

struct PendingMessage {
    std::uint64_t id = 0;  // what post_send / post_recv returned, 0 where nothing was posted
    MessageName name;
    CompletionKind kind = CompletionKind::send;
    bool posted = true;  // false: it comes, and no receive of its name was posted
    std::uint16_t peer = 0;
    std::uint64_t bytes = 0;  // 0 where nothing was posted
    std::uint16_t arrived = 0, packets = 0;
};

}  // namespace csaud
