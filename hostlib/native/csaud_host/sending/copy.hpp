// A DATA copy on its way to the device.
#pragma once

#include <cstdint>

#include "csaud_host/messages/send_message.hpp"

namespace csaud {

struct Copy {
    const SendMessage* message = nullptr;
    std::uint16_t pkt_idx = 0;
    PacketRecord record;
    bool asks = false;     // for news of the window
    std::uint8_t cls = 4;  // of the copy: that of its message, and more urgent when sent again
};

}  // namespace csaud
