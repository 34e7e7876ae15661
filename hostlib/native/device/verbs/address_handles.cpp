#include "address_handles.hpp"

#include <utility>

#include "clock.hpp"
#include "csaud_host/base/byte_order.hpp"

namespace csaud::device::verbs {
namespace {

// Paths beyond these share their handles: a handle may cost memory in the device.
constexpr std::uint16_t kPaths = 16;
constexpr std::int64_t kRetry = 1'000'000'000;  // ns

// The inverse of the kernel's rdma_flow_label_to_udp_sport(): 14 bits, xored with the 6 above them. A label
// of zero would leave the port to the device.
std::uint32_t flow_label(std::uint16_t path) {
    constexpr std::uint32_t kHigh = 1;
    return (kHigh << 14) | ((path & 0x3FFFU) ^ kHigh);
}

std::uint64_t key_of(const Destination& d) {
    return (std::uint64_t{d.ipv4} << 32) | (std::uint64_t{d.path} << 8) | d.tos;
}

}  // namespace

AddressHandles::AddressHandles(std::shared_ptr<Domain> domain, std::uint8_t port, std::uint8_t gid_index,
                               std::size_t most)
    : domain_(std::move(domain)), port_(port), gid_index_(gid_index), most_(most) {}

ibv_ah* AddressHandles::get(const Destination& destination) {
    Destination wanted = destination;
    wanted.path %= kPaths;
    auto found = entries_.find(key_of(wanted));
    if (found == entries_.end() && entries_.size() >= most_ / 2) {
        wanted.path = 0;
        found = entries_.find(key_of(wanted));
    }
    if (found == entries_.end()) found = entries_.try_emplace(key_of(wanted)).first;
    Entry& entry = found->second;
    if (entry.handle) return entry.handle.get();
    const std::int64_t now = monotonic_now();
    if (entry.tried != 0 && now - entry.tried < kRetry) return nullptr;
    entry.handle.reset(make(wanted));
    entry.tried = monotonic_now();
    return entry.handle.get();
}

ibv_ah* AddressHandles::make(const Destination& destination) const {
    ibv_ah_attr attributes{};
    attributes.is_global = 1;
    attributes.port_num = port_;
    attributes.grh.sgid_index = gid_index_;
    attributes.grh.traffic_class = destination.tos;
    attributes.grh.hop_limit = destination.ttl;
    attributes.grh.flow_label = flow_label(destination.path);
    // ::ffff:a.b.c.d
    auto* gid = reinterpret_cast<std::byte*>(attributes.grh.dgid.raw);
    put16(gid + 10, 0xFFFF);
    put32(gid + 12, destination.ipv4);
    return library().create_ah(domain_->pd.get(), &attributes);
}

}  // namespace csaud::device::verbs
