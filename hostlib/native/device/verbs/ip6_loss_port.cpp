#include "ip6_loss_port.hpp"

#include <system_error>
#include <utility>

#include "ip6/inlet.hpp"
#include "ip6/sockets.hpp"

namespace csaud::device::verbs {
namespace {

// It needs no sink beside a raw socket, as over IPv4: cut packets have no UDP checksum, and such a packet to
// a port that nobody has is dropped without an ICMPv6 error.
class Ip6LossPort final : public LossPort {
  public:
    Ip6LossPort(const in6_addr& address, const ip6::Names& names, ip6::Inlet inlet)
        : address_(address), names_(names), inlet_(std::move(inlet)) {}

    std::size_t take(std::vector<Packet>& packets) override {
        const std::size_t count = inlet_.receive(names_, address_);
        for (std::size_t i = 0; i < count; ++i) packets.push_back(inlet_.packet(i));
        return count;
    }

    int descriptor() const override { return inlet_.fd().get(); }
    std::uint64_t drops() const override { return inlet_.drops(); }

  private:
    const in6_addr address_;
    const ip6::Names& names_;
    ip6::Inlet inlet_;
};

// The socket; nothing where this process may not open it, or another one has the port.
template <class Open>
FileDescriptor unless_refused(Open open) {
    try {
        return open();
    } catch (const std::system_error& error) {
        const bool refused = error.code() == std::errc::operation_not_permitted ||
                             error.code() == std::errc::permission_denied ||
                             error.code() == std::errc::address_in_use;
        if (!refused) throw;
        return {};
    }
}

}  // namespace

std::unique_ptr<LossPort> open_ip6_loss_port(const in6_addr& address, const ip6::Names& names,
                                             std::uint32_t qpn, std::size_t packet_bytes, std::size_t batch) {
    const ip6::Config config{address, qpn, packet_bytes, batch, kLossBuffer};
    std::uint16_t port = 0;  // a raw socket delivers it
    FileDescriptor fd = unless_refused([&] { return open_raw_receiver(config, Ports::loss); });
    if (!fd) {
        port = kLossPort;
        fd = unless_refused([&] { return open_port(config, port); });
    }
    if (!fd) return nullptr;
    return std::make_unique<Ip6LossPort>(address, names,
                                         ip6::Inlet(std::move(fd), port, batch, packet_bytes));
}

}  // namespace csaud::device::verbs
