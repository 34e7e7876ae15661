#include "inlet.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "../ip_headers.hpp"
#include "../sockets.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud::device::ip6 {
namespace {

constexpr std::size_t kHeaders = wire::kIpv4Bytes + wire::kUdpBytes;

}  // namespace

Inlet::Inlet(FileDescriptor fd, std::uint16_t port, std::size_t batch, std::size_t packet_bytes)
    : fd_(std::move(fd)),
      port_(port),
      batch_(batch, packet_bytes, port == 0 ? wire::kIpv4Bytes : kHeaders),
      foreign_drops_(receive_queue_drops(fd_)) {}

std::size_t Inlet::receive(const Names& names, const in6_addr& own) {
    const std::size_t count = batch_.receive(fd_);
    const Name destination = count == 0 ? kNobody : names.name_of(own);
    for (std::size_t i = 0; i < count; ++i) {
        const sockaddr_in6& source = batch_.source(i);
        const IpHeaders headers{.length = batch_.length(i),
                                .source = names.name_of(source.sin6_addr),
                                .destination = destination,
                                .source_port = ntohs(source.sin6_port),
                                .destination_port = port_,
                                .tos = batch_.tos(i)};
        std::byte* slot = batch_.slot(i).data();
        if (port_ != 0) {
            write_ip_headers(slot, headers);
        } else {
            std::array<std::byte, kHeaders> both;
            write_ip_headers(both.data(), headers);
            std::copy_n(both.begin(), wire::kIpv4Bytes, slot);  // UDP's came with it
        }
    }
    return count;
}

std::uint64_t Inlet::drops() const {
    return receive_queue_drops(fd_) - foreign_drops_;
}

}  // namespace csaud::device::ip6
