#include "address_family.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <utility>

#include "csaud_host/base/byte_order.hpp"
#include "ip4_loss_port.hpp"
#include "ip6_loss_port.hpp"
#include "sockets.hpp"

namespace csaud::device::verbs {
namespace {

in6_addr address_at(const std::byte* bytes) {
    in6_addr address{};
    std::copy_n(bytes, sizeof address, std::as_writable_bytes(std::span(address.s6_addr)).begin());
    return address;
}

class Ip4 final : public AddressFamily {
  public:
    explicit Ip4(const in6_addr& gid) : ipv4_(get32(std::as_bytes(std::span(gid.s6_addr)).data() + 12)) {}

    void set_names(ip6::Names) override {
        throw std::invalid_argument("the core knows IPv4 addresses without names");
    }

    // ::ffff:a.b.c.d
    std::optional<in6_addr> gid_of(std::uint32_t address) const override {
        std::array<std::byte, sizeof(in6_addr)> gid{};
        put16(gid.data() + 10, 0xFFFF);
        put32(gid.data() + 12, address);
        return address_at(gid.data());
    }

    // In its last 20 bytes.
    std::optional<IpHeaders> headers_in(const std::byte* grh) const override {
        constexpr unsigned kNoOptions = 0x45;  // 20 bytes
        const std::byte* header = grh + 20;
        if (get8(header) != kNoOptions) return std::nullopt;
        return IpHeaders{.source = get32(header + 12),
                         .destination = ipv4_,
                         .source_port = kRocePort,
                         .destination_port = kRocePort,
                         .tos = get8(header + 1),
                         .ttl = get8(header + 8)};
    }

    std::unique_ptr<LossPort> open_loss_port(std::uint32_t qpn, std::size_t packet_bytes,
                                             std::size_t batch) const override {
        return open_ip4_loss_port(ipv4_, qpn, packet_bytes, batch);
    }

  private:
    std::uint32_t ipv4_;
};

class Ip6 final : public AddressFamily {
  public:
    explicit Ip6(const in6_addr& gid) : address_(gid) {}

    void set_names(ip6::Names names) override {
        names_ = std::move(names);
        own_ = names_.name_of(address_);
    }

    std::optional<in6_addr> gid_of(std::uint32_t address) const override {
        const in6_addr* found = names_.address_of(address);
        return found == nullptr ? std::nullopt : std::optional(*found);
    }

    // All of it.
    std::optional<IpHeaders> headers_in(const std::byte* grh) const override {
        const std::uint32_t begin = get32(grh);  // version, traffic class, flow label
        if (begin >> 28 != 6) return std::nullopt;
        return IpHeaders{.source = names_.name_of(address_at(grh + 8)),
                         .destination = own_,
                         .source_port = kRocePort,
                         .destination_port = kRocePort,
                         .tos = static_cast<std::uint8_t>(begin >> 20),
                         .ttl = get8(grh + 7)};
    }

    std::unique_ptr<LossPort> open_loss_port(std::uint32_t qpn, std::size_t packet_bytes,
                                             std::size_t batch) const override {
        return open_ip6_loss_port(address_, names_, qpn, packet_bytes, batch);
    }

  private:
    in6_addr address_;
    ip6::Names names_;
    ip6::Name own_ = ip6::kNobody;
};

}  // namespace

std::unique_ptr<AddressFamily> address_family(const in6_addr& gid) {
    if (IN6_IS_ADDR_V4MAPPED(&gid)) return std::make_unique<Ip4>(gid);
    return std::make_unique<Ip6>(gid);
}

}  // namespace csaud::device::verbs
