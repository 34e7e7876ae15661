// Where the executor posts messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "csaud_host/base/time.hpp"
#include "csaud_host/contract/completion.hpp"
#include "csaud_host/wire/message_name.hpp"

namespace csaud::collectives {

// As the endpoint's posts: buffers must live until the completion; returns its id.
class Port {
  public:
    Port() = default;
    virtual ~Port() = default;
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    virtual std::uint64_t post_send(const MessageName&, std::uint16_t dst, std::span<const std::byte>,
                                    const Hints&, Nanos now) = 0;
    virtual std::uint64_t post_recv(const MessageName&, std::uint16_t src, std::span<std::byte>, const Hints&,
                                    Nanos now) = 0;
};

}  // namespace csaud::collectives
