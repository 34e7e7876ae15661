// An endpoint as the executor's port.
#pragma once

#include "collectives/port.hpp"
#include "csaud_host/endpoint/endpoint.hpp"

namespace csaud::collectives {

class EndpointPort final : public Port {
  public:
    explicit EndpointPort(Endpoint& endpoint) : endpoint_(endpoint) {}

    std::uint64_t post_send(const MessageName& name, std::uint16_t dst, std::span<const std::byte> buffer,
                            const Hints& hints, Nanos now) override {
        return endpoint_.post_send(name, dst, buffer, hints, now);
    }
    std::uint64_t post_recv(const MessageName& name, std::uint16_t src, std::span<std::byte> buffer,
                            const Hints& hints, Nanos now) override {
        return endpoint_.post_recv(name, src, buffer, hints, now);
    }

  private:
    Endpoint& endpoint_;
};

}  // namespace csaud::collectives
