// Address handles: how the device reaches a peer, one for each address, TOS and path.
//
// What a socket writes into every packet, an RDMA device takes from the handle: TOS (so the ECN bits), TTL
// and, by the flow label, the UDP source port that plain ECMP fabrics spread by. Devices that honour the
// label (mlx5) send from 0xC000 + path, like the soft device; others (rxe) use one port a queue pair.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "address_family.hpp"
#include "library.hpp"

namespace csaud::device::verbs {

struct Destination {
    std::uint32_t address = 0;  // as the core knows it
    std::uint16_t path = 0;
    std::uint8_t tos = 0;
    std::uint8_t ttl = 64;
};

class AddressHandles {
  public:
    // `most` handles at a time; beyond it the paths of a peer share one.
    AddressHandles(std::shared_ptr<Domain> domain, const AddressFamily& family, std::uint8_t port,
                   std::uint8_t gid_index, std::size_t most);

    // The handle, made by the first call, or nullptr where the address is nobody's or has no link address
    // (nobody answered ARP or neighbour discovery): asking for one can take a second, and is not repeated
    // before another one has passed.
    ibv_ah* get(const Destination& destination);

  private:
    // By GID: a name may be another address's when ranks meet again.
    struct Key {
        std::array<std::uint64_t, 2> gid;
        std::uint32_t path_and_tos;

        bool operator==(const Key&) const = default;
    };
    struct Hash {
        std::size_t operator()(const Key& key) const noexcept;
    };
    struct Entry {
        AddressHandle handle;
        std::int64_t tried = 0;  // when it could not be made, ns
    };

    static Key key_of(const in6_addr& gid, const Destination& destination);
    ibv_ah* make(const in6_addr& gid, const Destination& destination) const;

    std::shared_ptr<Domain> domain_;
    const AddressFamily& family_;
    std::uint8_t port_;
    std::uint8_t gid_index_;
    std::size_t most_;
    std::unordered_map<Key, Entry, Hash> entries_;
};

}  // namespace csaud::device::verbs
