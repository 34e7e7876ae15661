// A DATA copy, or a row of parity, on its way to the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "csaud_host/messages/send_message.hpp"

namespace csaud {

struct Copy {
    const SendMessage* message = nullptr;
    std::uint16_t pkt_idx = 0;
    PacketRecord record;
    bool asks = false;                    // for news of the window
    std::uint8_t cls = 4;                 // of the copy: that of its message, and more urgent when sent again
    std::uint8_t covered = 0;             // packets, by the row pkt_idx of parity; 0: it is DATA
    std::span<const std::byte> parity{};  // the row
};

}  // namespace csaud
