// Address handles: how the device reaches a peer, one for each address, TOS and path.
//
// What a socket writes into every packet, an RDMA device takes from the handle: TOS (so the ECN bits), TTL
// and, by the flow label, the UDP source port that plain ECMP fabrics spread by. Devices that honour the
// label (mlx5) send from 0xC000 + path, like the soft device; others (rxe) use one port a queue pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "library.hpp"

namespace csaud::device::verbs {

struct Destination {
    std::uint32_t ipv4 = 0;  // host byte order
    std::uint16_t path = 0;
    std::uint8_t tos = 0;
    std::uint8_t ttl = 64;
};

class AddressHandles {
  public:
    // `most` handles at a time; beyond it the paths of a peer share one.
    AddressHandles(std::shared_ptr<Domain> domain, std::uint8_t port, std::uint8_t gid_index,
                   std::size_t most);

    // The handle, made by the first call, or nullptr where the peer has no link address (nobody answered
    // ARP): asking for one can take a second, and is not repeated before another one has passed.
    ibv_ah* get(const Destination& destination);

  private:
    struct Entry {
        AddressHandle handle;
        std::int64_t tried = 0;  // when it could not be made, ns
    };

    ibv_ah* make(const Destination& destination) const;

    std::shared_ptr<Domain> domain_;
    std::uint8_t port_;
    std::uint8_t gid_index_;
    std::size_t most_;
    std::unordered_map<std::uint64_t, Entry> entries_;
};

}  // namespace csaud::device::verbs
