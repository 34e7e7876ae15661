#include "address_handles.hpp"

#include <cstring>
#include <optional>
#include <utility>

#include "clock.hpp"

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

}  // namespace

AddressHandles::AddressHandles(std::shared_ptr<Domain> domain, const AddressFamily& family, std::uint8_t port,
                               std::uint8_t gid_index, std::size_t most)
    : domain_(std::move(domain)), family_(family), port_(port), gid_index_(gid_index), most_(most) {}

AddressHandles::Key AddressHandles::key_of(const in6_addr& gid, const Destination& destination) {
    Key key{.gid = {}, .path_and_tos = (std::uint32_t{destination.path} << 8) | destination.tos};
    std::memcpy(key.gid.data(), &gid, sizeof key.gid);
    return key;
}

std::size_t AddressHandles::Hash::operator()(const Key& key) const noexcept {
    std::uint64_t mixed = key.path_and_tos;
    for (const std::uint64_t part : key.gid) mixed = (mixed ^ part) * 0x9e3779b97f4a7c15ULL;
    return static_cast<std::size_t>(mixed ^ (mixed >> 32));
}

ibv_ah* AddressHandles::get(const Destination& destination) {
    const std::optional<in6_addr> gid = family_.gid_of(destination.address);
    if (!gid) return nullptr;
    Destination wanted = destination;
    wanted.path %= kPaths;
    auto found = entries_.find(key_of(*gid, wanted));
    if (found == entries_.end() && entries_.size() >= most_ / 2) {
        wanted.path = 0;
        found = entries_.find(key_of(*gid, wanted));
    }
    if (found == entries_.end()) found = entries_.try_emplace(key_of(*gid, wanted)).first;
    Entry& entry = found->second;
    if (entry.handle) return entry.handle.get();
    const std::int64_t now = monotonic_now();
    if (entry.tried != 0 && now - entry.tried < kRetry) return nullptr;
    entry.handle.reset(make(*gid, wanted));
    entry.tried = monotonic_now();
    return entry.handle.get();
}

ibv_ah* AddressHandles::make(const in6_addr& gid, const Destination& destination) const {
    ibv_ah_attr attributes{};
    attributes.is_global = 1;
    attributes.port_num = port_;
    attributes.grh.sgid_index = gid_index_;
    attributes.grh.traffic_class = destination.tos;
    attributes.grh.hop_limit = destination.ttl;
    attributes.grh.flow_label = flow_label(destination.path);
    std::memcpy(attributes.grh.dgid.raw, &gid, sizeof gid);
    return library().create_ah(domain_->pd.get(), &attributes);
}

}  // namespace csaud::device::verbs
